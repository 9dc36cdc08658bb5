import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type AssetMachine, findLiveAssets } from './assets.ts';

/** A machine with these executable files; `--version` is answered by what stands behind their path. */
function machine(
  environment: Readonly<Record<string, string>>,
  files: Readonly<Record<string, string>>,
): AssetMachine {
  return {
    environment,
    isExecutable: (path) => path in files,
    list: (directory) =>
      Object.keys(files)
        .filter((path) => path.startsWith(`${directory}/`))
        .map((path) => path.slice(directory.length + 1)),
    versionOutput: (path) => files[path] ?? '',
  };
}

const found = (...args: Parameters<typeof machine>) => {
  const result = findLiveAssets(machine(...args));
  assert.ok(result.ok, JSON.stringify(result));
  return result.assets;
};
const problems = (...args: Parameters<typeof machine>) => {
  const result = findLiveAssets(machine(...args));
  assert.ok(!result.ok);
  return result;
};

describe('binaries for the live suite', () => {
  it('are those of a directory, oldest first, by the version in their names', () => {
    const { apiServers, etcd } = found(
      { MIXED_VERSION_PROXY_LIVE_ASSETS: '/assets' },
      {
        '/assets/kube-apiserver-1.33': '',
        '/assets/kube-apiserver-v1.9.11': '',
        '/assets/kube-apiserver-1.25.0': '',
        '/assets/kube-scheduler-1.33': '',
        '/assets/etcd': '',
      },
    );
    assert.deepEqual(
      apiServers.map(({ version, minor, path }) => [version, minor, path]),
      [
        ['1.9', 9, '/assets/kube-apiserver-v1.9.11'],
        ['1.25', 25, '/assets/kube-apiserver-1.25.0'],
        ['1.33', 33, '/assets/kube-apiserver-1.33'],
      ],
    );
    assert.equal(etcd, '/assets/etcd');
  });

  it('may be listed one by one, and then tell their version themselves', () => {
    const { apiServers, etcd } = found(
      { TEST_ASSET_KUBE_APISERVERS: '/old/kube-apiserver:/new/kube-apiserver', TEST_ASSET_ETCD: '/x/etcd' },
      {
        '/old/kube-apiserver': 'Kubernetes v1.32.4',
        '/new/kube-apiserver': 'Kubernetes v1.33.0-rc.1',
        '/x/etcd': '',
      },
    );
    assert.deepEqual(
      apiServers.map(({ version }) => version),
      ['1.32', '1.33'],
    );
    assert.equal(etcd, '/x/etcd');
  });

  it('take etcd from PATH where none is named', () => {
    const files = { '/a/kube-apiserver-1.25': '', '/a/kube-apiserver-1.26': '', '/bin/etcd': '' };
    const list = '/a/kube-apiserver-1.25:/a/kube-apiserver-1.26';
    assert.equal(found({ TEST_ASSET_KUBE_APISERVERS: list, PATH: '/usr:/bin' }, files).etcd, '/bin/etcd');
  });

  it('that were not given are no fault', () => {
    assert.equal(problems({ PATH: '/bin' }, { '/bin/etcd': '' }).given, false);
    assert.equal(problems({ MIXED_VERSION_PROXY_LIVE_ASSETS: '' }, {}).given, false);
  });

  it('that were named and cannot be used are told all at once', () => {
    const { given, problems: told } = problems(
      {
        MIXED_VERSION_PROXY_LIVE_ASSETS: '/empty',
        TEST_ASSET_KUBE_APISERVERS: '/gone/kube-apiserver-1.25:/odd/apiserver',
        TEST_ASSET_ETCD: '/gone/etcd',
      },
      { '/odd/apiserver': 'Kubernetes v0.0.0-master' },
    );
    assert.equal(given, true);
    assert.deepEqual(told.length, 3);
    assert.match(told.join('\n'), /\/gone\/kube-apiserver-1\.25 is not an executable file/);
    assert.match(told.join('\n'), /\/odd\/apiserver: its version is neither/);
    assert.match(told.join('\n'), /no etcd: set TEST_ASSET_ETCD/);
  });

  it('must be of two versions', () => {
    const { problems: told } = problems(
      { MIXED_VERSION_PROXY_LIVE_ASSETS: '/a' },
      { '/a/kube-apiserver-1.33.1': '', '/a/kube-apiserver-1.33.2': '', '/a/etcd': '' },
    );
    assert.deepEqual(told, ['two versions of kube-apiserver are needed, found 1.33']);
  });
});
