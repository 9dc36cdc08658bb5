import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import type { RawServeFlags } from '../../../demo/checked-flags.ts';
import { kubeadmManifest } from '../../../test/support/installation/kubeadm-layout.ts';
import { serveFiles } from '../../../test/support/routers/serve-options.ts';
import { routerSettings } from '../../node/configuration/router-settings.ts';
import { givenByFlags } from '../settings/read-settings.ts';
import { findSettings } from './found-settings.ts';
import { kubeApiServerManifestPath } from './kube-apiserver-manifest.ts';

let pki: ReadonlyMap<string, string>;
before(async () => {
  const files = await serveFiles();
  const text = (name: string): string => files.get(name) ?? '';
  pki = new Map([
    ['/pki/ca.crt', text('ca.crt')],
    ['/pki/apiserver.crt', text('serving.crt')],
    ['/other/ca.crt', text('front-proxy-ca.crt')],
    ['/other/apiserver.crt', text('serving.crt')],
  ]);
});

const reading = { kubeconfig: ['reader.kubeconfig'] };

/** Settings that are found beside these options, on a node with this manifest. */
function found(
  given: RawServeFlags,
  manifest: string | null = kubeadmManifest({ pki: '/pki', securePort: 6444 }),
  path = kubeApiServerManifestPath,
) {
  const files = new Map([...pki, ...(manifest === null ? [] : [[path, manifest] as const])]);
  const result = findSettings(givenByFlags(routerSettings, given), (name) => {
    const text = files.get(name);
    if (text === undefined) throw new Error('ENOENT: no such file or directory');
    return text;
  });
  return {
    ...result,
    values: Object.fromEntries([...result.values].map(([flag, { shown }]) => [flag, shown])),
    sourceOf: (flag: string) => result.values.get(flag)?.source,
  };
}

const everything = {
  'local-server': 'https://127.0.0.1:6444',
  'tls-cert-file': '/pki/apiserver.crt',
  'tls-private-key-file': '/pki/apiserver.key',
  'proxy-client-cert-file': '/pki/front-proxy-client.crt',
  'proxy-client-key-file': '/pki/front-proxy-client.key',
  'client-ca-file': '/pki/ca.crt',
  'requestheader-client-ca-file': '/pki/front-proxy-ca.crt',
  'requestheader-allowed-names': 'front-proxy-client',
  'requestheader-username-headers': 'X-Remote-User',
  'requestheader-group-headers': 'X-Remote-Group',
  'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
  'peer-ca-file': '/pki/ca.crt',
};

/** Settings that are found, without some of them. */
const without = (...names: (keyof typeof everything)[]) =>
  Object.fromEntries(Object.entries(everything).filter(([name]) => !names.some((each) => each === name)));

describe('what a router finds on its node', () => {
  it('is all that kube-apiserver itself is given there, each with its source', () => {
    const { values, sourceOf, issues } = found(reading);
    assert.deepEqual(issues, []);
    assert.deepEqual(values, everything);
    assert.deepEqual(sourceOf('client-ca-file'), {
      kind: 'found',
      text: `--client-ca-file of kube-apiserver in ${kubeApiServerManifestPath}`,
    });
    assert.deepEqual(sourceOf('peer-ca-file'), {
      kind: 'found',
      text: "has signed kube-apiserver's /pki/apiserver.crt",
    });
  });

  it('is nothing for a gateway, for a router that is pushed to, and where nobody wants it', () => {
    for (const given of [
      {},
      { 'snapshot-keys': ['keys.json'] },
      { ...reading, gateway: ['true'] },
      { ...reading, 'kube-apiserver-manifest': ['none'] },
    ]) {
      assert.deepEqual(found(given).values, {}, JSON.stringify(given));
    }
    assert.deepEqual(found({ 'in-cluster': ['true'] }).values, everything);
  });

  it('never wins over what is given, and is no half of a pair whose other half is given', () => {
    assert.deepEqual(
      found({ ...reading, 'local-server': ['https://10.0.0.1:7443'], 'tls-cert-file': ['own.crt'] }).values,
      without('local-server', 'tls-cert-file', 'tls-private-key-file'),
    );
  });

  it('says nothing of authentication where anything of it is given: a mixture would trust whom nobody meant', () => {
    const rest = without(
      'client-ca-file',
      'requestheader-client-ca-file',
      'requestheader-allowed-names',
      'requestheader-username-headers',
      'requestheader-group-headers',
      'requestheader-extra-headers-prefix',
    );
    for (const name of ['client-ca-file', 'requestheader-allowed-names', 'assertion-keys'] as const) {
      assert.deepEqual(found({ ...reading, [name]: ['x'] }).values, rest, name);
    }
  });

  it('never makes up which front proxies are believed: without a word of kube-apiserver it is not found', () => {
    const manifest = kubeadmManifest({
      pki: '/pki',
      securePort: 6444,
      flags: { 'requestheader-allowed-names': undefined },
    });
    assert.deepEqual(found(reading, manifest).values, without('requestheader-allowed-names'));
  });

  it('is no authority that has not signed the serving certificate, unless kube-apiserver names it', () => {
    const other = { pki: '/other', securePort: 6444 };
    assert.equal(found(reading, kubeadmManifest(other)).values['peer-ca-file'], undefined);
    const named = kubeadmManifest({ ...other, flags: { 'peer-ca-file': '/etc/kubernetes/pki/peers.crt' } });
    assert.equal(found(reading, named).values['peer-ca-file'], '/other/peers.crt');
  });

  it('is no file that only the container of kube-apiserver has', () => {
    const manifest = kubeadmManifest({
      pki: '/pki',
      securePort: 6444,
      flags: { 'client-ca-file': '/var/run/secret/ca.crt' },
    });
    assert.deepEqual(found(reading, manifest).values, without('client-ca-file'));
  });

  it('is what kube-apiserver asks of TLS, so that its port takes no more than before', () => {
    const flags = { 'tls-min-version': 'VersionTLS13' };
    const manifest = kubeadmManifest({ pki: '/pki', securePort: 6444, flags });
    assert.deepEqual(found(reading, manifest).values, { ...everything, ...flags });
  });

  it('is how many streams a client may have on a connection, where kube-apiserver was given more', () => {
    const flags = { 'http2-max-streams-per-connection': '1000' };
    const manifest = kubeadmManifest({ pki: '/pki', securePort: 6444, flags });
    const { values } = found(reading, manifest);
    assert.deepEqual(values, { ...everything, ...flags });
  });

  it('leaves out TLS before 1.2, and says so', () => {
    const foundOf = (version: string, given = {}) =>
      found(
        { ...reading, ...given },
        kubeadmManifest({ pki: '/pki', securePort: 6444, flags: { 'tls-min-version': version } }),
      );
    const old = foundOf('VersionTLS10');
    assert.equal(old.values['tls-min-version'], undefined);
    assert.equal(old.warnings.length, 1);
    assert.match(
      old.warnings[0]?.message ?? '',
      /--tls-min-version: VersionTLS12 is used, .* no VersionTLS10 \(found:/,
    );
    assert.deepEqual(foundOf('VersionTLS12').warnings, []);
    assert.deepEqual(foundOf('VersionTLS10', { 'tls-min-version': ['VersionTLS12'] }).warnings, []);
  });

  it('is every name of an identity header that kube-apiserver reads: a client must not send one that the router lets pass', () => {
    const manifest = kubeadmManifest({ pki: '/pki', securePort: 6444 }).replace(
      /^( *- --requestheader-username-headers=).*$/m,
      '$1X-First,X-Second\n$1X-Third',
    );
    const headers = found(reading, manifest).values['requestheader-username-headers'];
    assert.equal(headers, 'X-First,X-Second,X-Third');
  });

  it('is refused where only the kubelet knows whom kube-apiserver believes', () => {
    const flags = { 'requestheader-username-headers': '$(USER_HEADER)' };
    const manifest = kubeadmManifest({ pki: '/pki', securePort: 6444, flags });
    const [issue, ...others] = found(reading, manifest).issues;
    assert.match(issue?.message ?? '', /takes --requestheader-username-headers from an environment variable/);
    assert.deepEqual(others, []);
    const headers = { 'requestheader-username-headers': ['X-User'] };
    assert.deepEqual(found({ ...reading, ...headers }, manifest).issues, []);
  });

  it('is every serving pair that kube-apiserver has for a name, by its path on the node', () => {
    const pair = '/etc/kubernetes/pki/api.crt,/etc/kubernetes/pki/api.key';
    const manifest = kubeadmManifest({
      pki: '/other',
      securePort: 6444,
      flags: { 'tls-sni-cert-key': `${pair}:api.example,*.api.example` },
    }).replace(/^( *- --)tls-sni-cert-key=.*$/m, (line, dash) =>
      [
        line,
        `${dash}tls-sni-cert-key=${pair}`,
        `${dash}tls-sni-cert-key=/container/a.crt,/container/a.key`,
      ].join('\n'),
    );
    const { values } = findSettings(givenByFlags(routerSettings, reading), () => manifest);
    const onNode = { certFile: '/other/api.crt', keyFile: '/other/api.key' };
    assert.deepEqual(values.get('tls-sni-cert-key')?.input, [
      { ...onNode, names: ['api.example', '*.api.example'] },
      onNode,
    ]);
  });

  it('is the address that kube-apiserver is bound to, and loopback where it listens everywhere', () => {
    const origin = (flags: Record<string, string | undefined>) =>
      found(reading, kubeadmManifest({ pki: '/pki', securePort: 6444, flags })).values['local-server'];
    assert.equal(origin({ 'bind-address': '10.0.0.7' }), 'https://10.0.0.7:6444');
    assert.equal(origin({ 'bind-address': 'fd00::7' }), 'https://[fd00::7]:6444');
    assert.equal(origin({ 'bind-address': '::' }), 'https://127.0.0.1:6444');
    assert.equal(origin({ 'secure-port': undefined }), 'https://127.0.0.1:6443');
  });

  it('is nothing on a node without the manifest, which is no error until something is missed', () => {
    const { values, issues, note } = found(reading, null);
    assert.deepEqual([values, issues], [{}, []]);
    assert.match(
      note ?? '',
      /nothing was found either: .*kube-apiserver\.yaml, .* cannot be read: no such file/,
    );
  });

  it('needs a manifest that is named, and one that can be understood', () => {
    const path = '/srv/kube-apiserver.yaml';
    const given = { ...reading, 'kube-apiserver-manifest': [path] };
    const [missing] = found(given, null).issues;
    assert.match(
      missing?.message ?? '',
      /^--kube-apiserver-manifest: \/srv\/.* cannot be read: no such file.*none/,
    );
    const [other] = found(given, 'kind: Secret', path).issues;
    assert.match(other?.message ?? '', /is no manifest of a pod; set it to none to have nothing found there/);
    assert.equal(found(reading, 'kind: Secret').issues.length, 1);
  });
});
