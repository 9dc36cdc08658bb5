import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { kubeconfigText } from '../../../test/support/clients/kubeconfig-text.ts';
import { askOverHttp2, openHttp2 } from '../../../test/support/clients/tls-client.ts';
import { runCommand } from '../../../test/support/commands/command-context.ts';
import {
  type StartedRouter,
  type StartedRouterOptions,
  startRouterWithFiles,
} from '../../../test/support/routers/started-router.ts';
import { type ServerOptions, snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { listedServer, statusOf, statusView } from '../../../test/support/snapshots/status-view.ts';
import { sealSnapshot, signingKeyOf } from '../../snapshot/signing/seal.ts';
import { routersText } from './routers-text.ts';
import type { RouterOfServer } from './routers-view.ts';
import { isHealthy, statusText } from './status-text.ts';

const older: ServerOptions = {
  version: 'v1.35.0',
  serves: ['v1/pods', 'autoscaling/v2beta2/horizontalpodautoscalers'],
};
const newer: ServerOptions = { version: 'v1.36.0', serves: ['v1/pods', 'apps/v1/deployments'] };

/** Two running routers of one cluster, and the command. */
async function twoRouters(
  context: TestContext,
  flags: StartedRouterOptions['flags'] = {},
  ofSecond: (first: StartedRouter) => StartedRouterOptions['flags'] = () => ({}),
) {
  const first = await startRouterWithFiles(context, { flags });
  const second = await startRouterWithFiles(context, {
    authorities: first.authorities,
    flags: { ...flags, 'server-id': ['cp-b'], ...ofSecond(first) },
  });
  const admin = await first.user('admin', ['system:masters']);
  const kubeconfig = first.path('admin.kubeconfig');
  const { certificate: authority } = first.authorities.cluster;
  const server = `https://127.0.0.1:${first.port}`;
  await first.write('admin.kubeconfig', kubeconfigText({ server, authority, user: admin }));
  const status = (...flags: readonly string[]) =>
    runCommand(new Map(), ['status', `--kubeconfig=${kubeconfig}`, ...flags]);
  const push = async (
    router: StartedRouter,
    generation: number,
    servers: Readonly<Record<string, ServerOptions>>,
    host = '127.0.0.1',
  ) => {
    const session = openHttp2(context, {
      host,
      port: router.port,
      ca: first.authorities.cluster.certificate,
      pair: admin,
    });
    const snapshot = snapshotOf(servers, { generation, createdAt: new Date().toISOString() });
    const body = await sealSnapshot(snapshot, signingKeyOf(router.snapshotKey.privateJwk));
    const { status } = await askOverHttp2(session, '/.mixed-version-proxy/v1/snapshot', {
      method: 'PUT',
      body,
    });
    assert.equal(status, 200);
  };
  const serverFlag = ({ port }: StartedRouter) => `--server=https://127.0.0.1:${port}`;
  return { first, second, both: [serverFlag(first), serverFlag(second)], serverFlag, status, push };
}

describe('status of several routers', () => {
  it('has a row for each and says that they agree, whatever generation each has', async (context) => {
    const { first, second, both, status, push } = await twoRouters(context);
    await push(first, 7, { 'cp-a': older, 'cp-b': newer });
    await push(second, 12, { 'cp-a': older, 'cp-b': newer });
    const { code, output } = await status(...both);
    assert.equal(code, 0);
    assert.match(
      output,
      new RegExp(`^127\\.0\\.0\\.1:${first.port} +yes +7 pushed +\\d+ s +2 of 2 +1\\.36$`, 'm'),
    );
    assert.match(output, new RegExp(`^127\\.0\\.0\\.1:${second.port} +yes +12 pushed `, 'm'));
    assert.match(output, /^Ready: +2 of 2\nAgree: +yes$/m);
    assert.ok(output.split('\n').every((line) => line.length <= 80));
  });

  it('names each server that they know differently, and exits with 1', async (context) => {
    const { first, second, both, status, push } = await twoRouters(context);
    await push(first, 7, { 'cp-a': older, 'cp-b': older });
    await push(second, 7, { 'cp-a': older, 'cp-b': newer, 'cp-c': newer });
    const { code, output } = await status(...both);
    assert.equal(code, 1);
    assert.match(output, /^Agree: +no: see the differences below$/m);
    const flat = output.replaceAll(/\n {4}/g, ' ');
    const [one, other] = [`127.0.0.1:${first.port}`, `127.0.0.1:${second.port}`];
    assert.ok(flat.includes(`server cp-b: v1.35.0 (${one}); v1.36.0 (${other})`), output);
    assert.ok(flat.includes(`server cp-c: not known (${one}); v1.36.0 (${other})`), output);
    assert.ok(flat.includes('what server cp-b serves: '));
    assert.ok(!flat.includes('server cp-a'));
    assert.ok(output.split('\n').every((line) => line.length <= 80));

    const json = JSON.parse((await status(...both, '-o', 'json')).output);
    assert.equal(json.agree, false);
    const isOfServer = ({ subject }: { subject: string }) => subject === 'server cp-b';
    assert.deepEqual(json.differences.find(isOfServer), {
      subject: 'server cp-b',
      values: [
        { value: 'v1.35.0', routers: [`https://${one}`] },
        { value: 'v1.36.0', routers: [`https://${other}`] },
      ],
    });
    assert.deepEqual(
      json.routers.map((router: { status: { serverId: string } }) => router.status.serverId),
      ['cp-a', 'cp-b'],
    );
  });

  it('shows a router that is not ready, and one that is down, with the reason', async (context) => {
    const { first, second, both, status, push } = await twoRouters(context);
    await push(first, 1, { 'cp-a': older, 'cp-b': newer });
    const early = await status(...both);
    assert.equal(early.code, 1);
    assert.match(early.output, new RegExp(`^127\\.0\\.0\\.1:${second.port} +no +none`, 'm'));
    assert.match(early.output, /^Agree: +not known: fewer than two have a snapshot$/m);
    assert.match(early.output, new RegExp(`^Not ready:\\n +127\\.0\\.0\\.1:${second.port}: snapshot`, 'm'));
    await second.router.close(0);
    const { code, output } = await status(...both);
    assert.equal(code, 1);
    assert.match(output, new RegExp(`^127\\.0\\.0\\.1:${second.port} +no status$`, 'm'));
    assert.match(output.replaceAll(/\n {4}/g, ' '), /cannot be asked: nothing listens there/);
  });

  it('is not led astray by an API server, which is no router', async (context) => {
    const { first, serverFlag, status, push } = await twoRouters(context);
    await push(first, 1, { 'cp-a': older });
    const { code, output } = await status(
      serverFlag(first),
      `--server=https://127.0.0.1:${first.apiServer.port}`,
    );
    assert.equal(code, 1);
    assert.match(output, new RegExp(`^127\\.0\\.0\\.1:${first.apiServer.port} +no status$`, 'm'));
    // The one without a status may well be ready: it did not tell.
    assert.match(output, new RegExp(`^Not known:\\n +https://127\\.0\\.0\\.1:${first.apiServer.port}`, 'm'));
    assert.doesNotMatch(output, /^Not ready:/m);
  });

  it('says with --all whose routers it does not know, and claims no agreement with them', async (context) => {
    const { first, second, both, serverFlag, status, push } = await twoRouters(context);
    const onOneHost = { 'cp-a': older, 'cp-b': { ...newer, address: '10.0.0.1:6444' } };
    await push(first, 1, onOneHost);
    const { code, output } = await status(serverFlag(first), '--all');
    assert.equal(code, 1, output);
    assert.match(output, /^Ready: +1 of 1$/m);
    const notAsked = /^Not asked: +1 further server: no router address known; name all with --server$/m;
    assert.match(output, notAsked);
    assert.match(output, /^Agree: +not known: not all routers were asked$/m);
    assert.ok(output.split('\n').every((line) => line.length <= 80));
    const json = JSON.parse((await status(serverFlag(first), '--all', '-o', 'json')).output);
    assert.deepEqual([json.agree, json.notAsked], [null, ['cp-b']]);
    // With everything that a router tells of itself.
    assert.equal(json.routers[0].status.localServer.status, 'untried');

    await push(second, 1, onOneHost);
    const named = await status(...both);
    assert.equal(named.code, 0, named.output);
    assert.doesNotMatch(named.output, /Not asked/);
    const refused = await status(...both, '--all');
    assert.equal(refused.code, 2);
    assert.match(refused.errors, /--all begins at one router/);
  });

  it('asks with --all the routers that advertise an address, each itself', async (context) => {
    const { first, second, serverFlag, status, push } = await twoRouters(context, {
      'allowed-peer-cidrs': ['127.0.0.0/8', '10.0.0.0/8'],
    });
    const advertised = { address: `127.0.0.1:${second.port}`, by: 'advertise-address' } as const;
    for (const router of [first, second]) {
      await push(router, 1, { 'cp-a': older, 'cp-b': { ...newer, advertised } });
    }
    const { code, output } = await status(serverFlag(first), '--all');
    assert.equal(code, 0, output);
    assert.match(output, /^Ready: +2 of 2$/m);
    assert.ok(output.includes(`127.0.0.1:${second.port}`));
  });

  it('finds with --all routers that no sync job knows: on the same port, at the hosts of their servers', async (context) => {
    const flags = { 'allowed-peer-cidrs': ['127.0.0.0/8'] };
    const { first, second, serverFlag, status, push } = await twoRouters(context, flags, ({ port }) => ({
      'bind-address': ['127.0.0.2'],
      'secure-port': [String(port)],
    }));
    const servers = {
      'cp-a': { ...older, address: `127.0.0.1:${first.apiServer.port}` },
      'cp-b': { ...newer, address: `127.0.0.2:${second.apiServer.port}` },
    };
    await push(first, 1, servers);
    // Certificates are checked by the name that was given for the first.
    const ask = () => status(serverFlag(first), '--tls-server-name=kubernetes.default.svc', '--all');
    const early = await ask();
    assert.equal(early.code, 1);
    assert.match(early.output, new RegExp(`^127\\.0\\.0\\.2:${second.port} +no +none`, 'm'));
    await push(second, 4, servers, '127.0.0.2');
    const { code, output } = await ask();
    assert.equal(code, 0, output);
    assert.match(output, /^Ready: +2 of 2\nAgree: +yes$/m);

    await second.router.close(0);
    const down = await ask();
    assert.equal(down.code, 1);
    assert.match(
      down.output.replaceAll(/\n {4}/g, ' '),
      new RegExp(`https://127\\.0\\.0\\.2:${second.port} cannot be asked: nothing listens there`),
    );
  });
});

const asked = (origin: string, serverId: string, warnings: readonly string[] = []): RouterOfServer => ({
  server: origin,
  serverId,
  error: null,
  status: { ...statusView(serverId), warnings: warnings.map((message) => ({ message, see: null })) },
});

describe('servers that are down', () => {
  const snapshot = snapshotOf({ 'cp-a': older, 'cp-b': newer });
  const seenBy = (server: string, downIds: readonly string[]): RouterOfServer => {
    const whole = statusOf(snapshot);
    const servers = whole.servers.map((each) => ({
      ...each,
      health: {
        status: downIds.includes(each.id) ? ('unreachable' as const) : ('ready' as const),
        reason: null,
        since: null,
      },
    }));
    return { server, serverId: null, error: null, status: { ...whole, servers } };
  };
  const textOf = (...routers: readonly RouterOfServer[]) =>
    routersText({ agree: true, differences: [], notAsked: [], routers }, Date.now(), false).replaceAll(
      /\n {4,}/g,
      ' ',
    );

  it('are not all well: a router that is ready beside one is not healthy', () => {
    const [all, one] = [seenBy('https://10.0.0.1:7443', []), seenBy('https://10.0.0.1:7443', ['cp-b'])];
    assert.deepEqual(
      [all, one].map(({ status }) => status !== null && isHealthy(status)),
      [true, false],
    );
  });

  it('are told for all routers in one line, with what nobody serves meanwhile', () => {
    const text = textOf(seenBy('https://10.0.0.1:7443', ['cp-b']), seenBy('https://10.0.0.2:7443', ['cp-b']));
    assert.match(text, /^Down: +no healthy server serves apps\/v1 deployments: 503$/m);
    assert.doesNotMatch(textOf(seenBy('https://10.0.0.1:7443', [])), /^Down:/m);
  });

  it('are told with the router that alone sees them so', () => {
    const text = textOf(seenBy('https://10.0.0.1:7443', ['cp-b']), seenBy('https://10.0.0.2:7443', []));
    assert.match(text, /^Down: +10\.0\.0\.1:7443: no healthy server serves apps\/v1 deployments: 503$/m);
  });
});

describe('warnings of several routers', () => {
  it('are told once, with the routers that give them and the machines that they name', () => {
    const id = 'apiserver-3nlclpc6jk4obwmes465wgwizq';
    const shared = `${id} cannot decode flowschemas`;
    const routers = [
      asked('https://10.0.0.1:7443', id, [shared]),
      asked('https://10.0.0.2:7443', 'cp-b', [shared, 'a file is late']),
    ].map(({ status, ...router }) => ({
      ...router,
      status: status && { ...status, servers: [listedServer({ id, hostname: 'node-1' })] },
    }));
    const view = { agree: null, differences: [], notAsked: [], routers };
    const text = routersText(view, Date.now(), false);
    assert.match(
      text,
      /Warnings:\n {2}all routers: node-1 cannot decode flowschemas\n {2}10\.0\.0\.2:7443: a file is late\n/,
    );
    const [first] = routers;
    assert.ok(first?.status);
    const single = statusText(first.status, Date.now(), false, 'https://10.0.0.7:7443');
    assert.match(single, /Warnings:\n {2}node-1 cannot decode flowschemas\n/);
  });
});
