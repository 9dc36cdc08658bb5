import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type StartedRouter, startRouterWithFiles } from '../../../test/support/started-router.ts';
import { askOverHttp2, openHttp2 } from '../../../test/support/tls-client.ts';

const own = '/.mixed-version-proxy';

interface Status {
  readonly keyFiles: readonly {
    readonly name: string;
    readonly path: string;
    readonly lastError: string | null;
  }[];
  readonly needsRestart: readonly { readonly flag: string; readonly inUse: string }[];
  readonly warnings: readonly { readonly message: string }[];
}

async function askAsAdmin(context: TestContext, { port, authorities, user }: StartedRouter, target: string) {
  const pair = await user('admin', ['system:masters']);
  const session = openHttp2(context, { port, ca: authorities.cluster.certificate, pair });
  return (await askOverHttp2(session, target)).text;
}

async function statusOf(context: TestContext, router: StartedRouter): Promise<Status> {
  return JSON.parse(await askAsAdmin(context, router, `${own}/v1/status`));
}

const toldOfChange = ({ logs }: StartedRouter) =>
  logs.filter(
    ({ message }) => message === 'The configuration file has changed since the start: restart to use it',
  );

describe('a configuration file that changes while the router runs', () => {
  it('changes nothing, and is told in log, status, readiness and metric until it is changed back', async (context) => {
    const started = await startRouterWithFiles(context, {
      configuration: { limits: { requestsInFlight: 400 } },
    });
    const { router, configure } = started;
    await configure({ limits: { requestsInFlight: 500 } });
    await router.reload();
    await router.reload();
    const [told, ...others] = toldOfChange(started);
    assert.deepEqual(others, []);
    assert.match(JSON.stringify(told), /--max-requests-inflight.*limits\.requestsInFlight.*"400".*"500"/);
    const status = await statusOf(context, started);
    assert.deepEqual(
      status.needsRestart.map(({ flag, inUse }) => [flag, inUse]),
      [['--max-requests-inflight', '400']],
    );
    assert.match(
      status.warnings.map(({ message }) => message).join(),
      /--max-requests-inflight \(limits\.requestsInFlight\) needs a restart/,
    );
    assert.match(await askAsAdmin(context, started, '/readyz?verbose'), /changed settings need a restart/);
    const waiting = async () => {
      const text = await askAsAdmin(context, started, `${own}/metrics`);
      return /^mixed_version_proxy_settings_needing_restart (\d)$/m.exec(text)?.[1];
    };
    assert.equal(await waiting(), '1');

    await configure({ limits: { requestsInFlight: 400 } });
    await router.reload();
    const mended = await statusOf(context, started);
    assert.deepEqual([mended.needsRestart, mended.warnings], [[], []]);
    assert.equal(await waiting(), '0');
  });

  it('to one that no router could start with says every error once, and shows it until it is mended', async (context) => {
    const started = await startRouterWithFiles(context, { configuration: {} });
    const { router, configure, logs, path } = started;
    await configure({ serving: { prot: 1 }, limits: { goawayChance: 'x' } });
    await router.reload();
    await router.reload();
    const [error, ...others] = logs
      .filter(({ level }) => level === 'error')
      .map(({ fields }) => String(fields['error']));
    assert.deepEqual(others, []);
    assert.match(
      error ?? '',
      /router\.yaml:\d+:\d+: serving\.prot is no key.*router\.yaml:\d+:\d+: limits\.goawayChance/,
    );
    const status = await statusOf(context, started);
    const file = status.keyFiles.find(({ name }) => name === 'config');
    assert.deepEqual([file?.path, file?.lastError], [path('router.yaml'), error]);
    const ready = await askAsAdmin(context, started, '/readyz?verbose');
    assert.match(ready, /^\[\+\]files ok\nwarn: files: a file is not in use as it is now/m);
    assert.doesNotMatch(ready, /router\.yaml|serving/);

    await configure({});
    await router.reload();
    assert.deepEqual((await statusOf(context, started)).warnings, []);
  });

  it('does not keep a renewed certificate from being taken', async (context) => {
    const started = await startRouterWithFiles(context, { configuration: {} });
    const { router, configure, write, authorities } = started;
    await configure({ serving: { prot: 1 } });
    await write('ca.crt', `${authorities.cluster.certificate}# renewed\n`);
    await router.reload();
    const { keyFiles, warnings } = await statusOf(context, started);
    assert.equal(keyFiles.find(({ name }) => name === 'config')?.lastError === null, false);
    assert.doesNotMatch(warnings.map(({ message }) => message).join(), /client-ca-file/);
    assert.ok(started.logs.some(({ message }) => message === 'Reloaded: certificates, keys and kubeconfig'));
  });
});
