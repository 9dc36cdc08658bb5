import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { runCommand } from '../../../test/support/command-context.ts';
import { type ServerOptions, snapshotOf } from '../../../test/support/snapshot-builder.ts';
import {
  type StartedRouter,
  type StartedRouterOptions,
  startRouterWithFiles,
} from '../../../test/support/started-router.ts';
import { askOverHttp2, openHttp2 } from '../../../test/support/tls-client.ts';
import { clusterView } from '../../dashboard/cluster-view.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { sealSnapshot } from '../../snapshot/signing/seal.ts';
import { signingKeyOf } from '../../snapshot/signing/signing-key.ts';
import { type AskedRouter, differencesBetween, otherRouters, serversNotAsked } from './routers-agreement.ts';
import { routersText } from './routers-text.ts';
import { statusText } from './status-text.ts';
import type { StatusView } from './status-view.ts';

const older: ServerOptions = {
  version: 'v1.35.0',
  serves: ['v1/pods', 'autoscaling/v2beta2/horizontalpodautoscalers'],
};
const newer: ServerOptions = { version: 'v1.36.0', serves: ['v1/pods', 'apps/v1/deployments'] };

/** Two running routers of one cluster, and the command. */
async function twoRouters(context: TestContext, flags: StartedRouterOptions['flags'] = {}) {
  const first = await startRouterWithFiles(context, { flags });
  const second = await startRouterWithFiles(context, {
    authorities: first.authorities,
    flags: { ...flags, 'server-id': ['cp-b'] },
  });
  const admin = await first.user('admin', ['system:masters']);
  const files = new Map([
    ['ca.crt', first.authorities.cluster.certificate],
    ['admin.crt', admin.chain],
    ['admin.key', admin.privateKey],
  ]);
  const status = (...flags: readonly string[]) =>
    runCommand(files, [
      'status',
      '--certificate-authority=ca.crt',
      '--client-certificate=admin.crt',
      '--client-key=admin.key',
      ...flags,
    ]);
  const push = async (
    router: StartedRouter,
    generation: number,
    servers: Readonly<Record<string, ServerOptions>>,
  ) => {
    const session = openHttp2(context, {
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
      new RegExp(`^127\\.0\\.0\\.1:${first.port} +yes +7 pushed +\\d+ s +2 of 2 +-$`, 'm'),
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

    const yaml = parse((await status(...both, '-o', 'yaml')).output);
    assert.equal(yaml.agree, false);
    assert.deepEqual(yaml.differences[0], {
      subject: 'server cp-b',
      values: [
        { value: 'v1.35.0', routers: [`https://${one}`] },
        { value: 'v1.36.0', routers: [`https://${other}`] },
      ],
    });
    assert.deepEqual(
      yaml.routers.map((router: { status: { serverId: string } }) => router.status.serverId),
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
    assert.match(output.replaceAll(/\n {4}/g, ' '), /cannot be asked: .*ECONNREFUSED/);
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
    // It may well be ready: it did not tell.
    assert.match(output, new RegExp(`^Not known:\\n +https://127\\.0\\.0\\.1:${first.apiServer.port}`, 'm'));
    assert.doesNotMatch(output, /^Not ready:/m);
  });

  it('says with --all whose routers it does not know, and claims no agreement with them', async (context) => {
    const { first, second, both, serverFlag, status, push } = await twoRouters(context);
    await push(first, 1, { 'cp-a': older, 'cp-b': newer });
    const { code, output } = await status(serverFlag(first), '--all');
    assert.equal(code, 1, output);
    assert.match(output, /^Ready: +1 of 1$/m);
    const notAsked = /^Not asked: +1 further server: no router address known; name them with --server$/m;
    assert.match(output, notAsked);
    assert.match(output, /^Agree: +not known: not all routers were asked$/m);
    assert.ok(output.split('\n').every((line) => line.length <= 80));
    const json = JSON.parse((await status(serverFlag(first), '--all', '-o', 'json')).output);
    assert.deepEqual([json.agree, json.notAsked], [null, ['cp-b']]);

    await push(second, 1, { 'cp-a': older, 'cp-b': newer });
    const named = await status(...both, '--all');
    assert.equal(named.code, 0, named.output);
    assert.doesNotMatch(named.output, /Not asked/);
  });

  it('asks with --all the routers that advertise an address, by the name that routers know each other by', async (context) => {
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
});

const asked = (origin: string, serverId: string, servers: StatusView['servers']): AskedRouter => ({
  server: origin,
  error: null,
  table: undefined,
  status: {
    form: 'sidecar',
    serverId,
    enabled: true,
    stalePolicy: 'serve-stale',
    snapshot: null,
    embeddedSync: null,
    found: [],
    servers,
    discovery: { conflictCount: 0, conflicts: [] },
    documents: [],
    warnings: [],
  },
});

describe('the preferred version of several routers', () => {
  const router = (host: string, configured: string, minor: string | null): AskedRouter => {
    const one = asked(`https://${host}`, host, []);
    assert.ok(one.status !== undefined);
    const preferredVersion = { configured, minor, enforcementDiffers: false, required: false };
    const table = minor === null ? undefined : buildRoutingTable(snapshotOf({ a: older, b: newer }));
    return { ...one, table, status: { ...one.status, preferredVersion } };
  };
  const subjects = (...routers: readonly AskedRouter[]) =>
    differencesBetween(routers).map(({ subject }) => subject);

  it('is compared where there is a snapshot: without one it is not known what a setting comes to', () => {
    assert.deepEqual(subjects(router('a', 'majority', '1.36'), router('b', 'majority', null)), []);
    assert.deepEqual(subjects(router('a', 'majority', '1.36'), router('b', 'oldest', '1.35')), [
      'preferred version',
    ]);
  });
});

describe('warnings of several routers', () => {
  it('are told once, with the routers that give them and the machines that they name', () => {
    const id = 'apiserver-3nlclpc6jk4obwmes465wgwizq';
    const table = buildRoutingTable(snapshotOf({ [id]: { ...older, hostname: 'node-1' } }));
    const router = (host: string, warnings: readonly string[]) => {
      const { status, ...others } = asked(`https://${host}`, host, []);
      assert.ok(status !== undefined);
      return { ...others, table, status: { ...status, warnings: [...warnings] } };
    };
    const shared = `${id} cannot decode flowschemas`;
    const first = router('10.0.0.1:7443', [shared]);
    const text = routersText(
      [first, router('10.0.0.2:7443', [shared, 'a file is late'])],
      [],
      [],
      Date.now(),
      false,
    );
    assert.match(
      text,
      /Warnings:\n {2}all routers: node-1 cannot decode flowschemas\n {2}10\.0\.0\.2:7443: a file is late\n/,
    );
    const plain = { isWide: false, isColored: false };
    const single = statusText({ status: first.status, cluster: clusterView(table) }, Date.now(), plain);
    assert.match(single, /Warnings:\n {2}node-1 cannot decode flowschemas\n/);
  });
});

describe('the routers that --all asks besides', () => {
  const server = (
    id: string,
    address: string | null,
    addressSource: string | null,
  ): StatusView['servers'][number] => ({
    id,
    local: false,
    address,
    addressSource,
    version: 'v1.36.0',
    stale: false,
    departedAt: null,
    health: { status: 'healthy', cause: null, since: null },
  });
  it('are those that advertise an address: not API servers, not the same router by another address', () => {
    const first = asked('https://lb.example:6443', 'cp-a', [
      server('cp-a', '10.0.0.1:7443', 'advertised'),
      server('cp-b', '10.0.0.2:7443', 'advertised'),
      server('cp-c', '10.0.0.3:6443', 'lease'),
      server('cp-d', null, 'advertised'),
      server('cp-e', '[fd00::5]:7443', 'advertised'),
    ]);
    assert.deepEqual(otherRouters([first]), ['https://10.0.0.2:7443', 'https://[fd00::5]:7443']);
    const second = asked('https://10.0.0.2:7443', 'cp-b', first.status?.servers ?? []);
    assert.deepEqual(otherRouters([first, second]), ['https://[fd00::5]:7443']);
    assert.deepEqual(serversNotAsked([first, second]), ['cp-c', 'cp-d']);
  });
});
