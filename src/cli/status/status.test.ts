import assert from 'node:assert/strict';
import { before, describe, it, type TestContext } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { runCommand, type Written } from '../../../test/support/command-context.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { startRouterWithFiles } from '../../../test/support/started-router.ts';
import { askOverHttp2, openHttp2 } from '../../../test/support/tls-client.ts';
import { clusterView } from '../../dashboard/cluster-view.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { sealSnapshot } from '../../snapshot/signing/seal.ts';
import { signingKeyOf } from '../../snapshot/signing/signing-key.ts';
import { type StatusReport, statusText } from './status-text.ts';
import type { StatusView } from './status-view.ts';

const snapshot = snapshotOf({
  'cp-a': { version: 'v1.25.0', serves: ['v1/pods', 'autoscaling/v2beta2/horizontalpodautoscalers'] },
  'cp-b': { version: 'v1.36.0', serves: ['v1/pods', 'apps/v1/deployments', 'apps/v1/daemonsets'] },
});

/** A running router, and a way to ask it by the command. */
async function runningRouter(context: TestContext) {
  const started = await startRouterWithFiles(context);
  const admin = await started.user('admin', ['system:masters']);
  const stranger = await started.user('stranger');
  const files = new Map([
    ['ca.crt', started.authorities.cluster.certificate],
    ['admin.crt', admin.chain],
    ['admin.key', admin.privateKey],
    ['stranger.crt', stranger.chain],
    ['stranger.key', stranger.privateKey],
  ]);
  const ask = (user: string, ...more: readonly string[]): Promise<Written & { readonly code: number }> =>
    runCommand(files, [
      'status',
      `--server=https://127.0.0.1:${started.port}`,
      '--certificate-authority=ca.crt',
      `--client-certificate=${user}.crt`,
      `--client-key=${user}.key`,
      ...more,
    ]);
  const push = async () => {
    const session = openHttp2(context, {
      port: started.port,
      ca: started.authorities.cluster.certificate,
      pair: admin,
    });
    const body = await sealSnapshot(snapshot, signingKeyOf(started.snapshotKey.privateJwk));
    const { status } = await askOverHttp2(session, '/.mixed-version-proxy/v1/snapshot', {
      method: 'PUT',
      body,
    });
    assert.equal(status, 200);
  };
  return { ask, push };
}

describe('status', () => {
  it('shows what a running router knows, as text and as JSON', async (context) => {
    const { ask, push } = await runningRouter(context);
    assert.match((await ask('admin')).output, /Snapshot: +none yet/);
    await push();
    const { code, output } = await ask('admin');
    assert.equal(code, 0);
    assert.match(output, /^Router: +sidecar of cp-a, stale policy serve-stale$/m);
    assert.match(output, /^Snapshot: +generation 1, /m);
    assert.match(output, /^cp-b +v1\.36\.0 +unknown /m);
    assert.match(output, /^GROUP +v1\.25\.0 +v1\.36\.0$/m);
    assert.match(output, /^apps +0 of 2 +2 of 2$/m);
    assert.match((await ask('admin', '-o', 'wide')).output, /^apps\/v1 deployments +- +yes$/m);
    assert.equal(JSON.parse((await ask('admin', '-o', 'json')).output).serverId, 'cp-a');
  });

  it('says what to do when the router tells nothing, or cannot be reached', async (context) => {
    const { ask } = await runningRouter(context);
    const stranger = await ask('stranger');
    assert.equal(stranger.code, 1);
    assert.match(stranger.errors, /answers with 403: the caller is neither in its --allowed-users/);
    const wrongName = await ask('admin', '--tls-server-name=example.com');
    assert.equal(wrongName.code, 1);
    assert.match(wrongName.errors, /cannot be asked: .*example\.com/);
  });

  it('names every fault of its flags at once', async () => {
    const { code, errors } = await runCommand(new Map([['token', 'two words']]), [
      'status',
      '--server=http://router',
      '--client-key=none.key',
      '--token-file=token',
      '--context=x',
    ]);
    assert.equal(code, 2);
    for (const fault of [
      /--client-key: cannot read none\.key/,
      /--client-certificate and --client-key go together/,
      /--server "http:\/\/router"/,
      /--token-file: token must hold one token/,
      /--context needs --kubeconfig/,
    ]) {
      assert.match(errors, fault);
    }
    assert.ok(!errors.includes('two words'));
  });
});

describe('the text of status', () => {
  const plain = { isWide: false, isColored: false };
  let report: StatusReport;
  const now = Date.parse('2026-01-01T00:05:00Z');
  const status: StatusView = {
    embeddedSync: null,
    found: [],
    form: 'gateway',
    serverId: null,
    enabled: true,
    stalePolicy: 'serve-stale',
    snapshot: {
      generation: 42,
      createdAt: '2026-01-01T00:00:00Z',
      expiresAt: '2026-01-01T00:04:00Z',
      expired: true,
      source: 'discovery',
    },
    servers: [
      {
        id: 'apiserver-2hb4bhxhxpo2wt5sc7ilxj7wxa',
        local: false,
        address: '10.0.0.1:6443',
        addressSource: 'advertised',
        version: 'v1.25.16',
        stale: true,
        departedAt: null,
        health: { status: 'unhealthy', cause: 'unreachable', since: '2026-01-01T00:03:00Z' },
      },
    ],
    discovery: {
      conflictCount: 2,
      conflicts: [
        {
          group: 'apps',
          version: 'v1',
          resource: 'deployments',
          subresource: 'scale',
          field: 'kind',
          claims: [{ value: 'Scale', serverIds: ['cp-a'] }],
        },
      ],
    },
    documents: [],
    warnings: ['--tls-cert-file: it expired \u001b[2J'],
  };
  before(() => {
    report = { status, cluster: clusterView(buildRoutingTable(snapshot)) };
  });

  it('tells of age, expiry, health, conflicts and warnings', () => {
    const text = statusText(report, now, plain);
    assert.match(text, /generation 42, 5 min 0 s old, expired 1 min 0 s ago, from discovery/);
    assert.match(text, /unhealthy \(unreachable\) 2 min 0 s +10\.0\.0\.1:6443 +its router +stale/);
    assert.match(text, /apps\/v1 deployments\/scale: kind "Scale" say cp-a\n {2}and 1 more/);
    assert.match(text, /Warnings:\n {2}--tls-cert-file/);
  });

  it('tells of a server that has departed, and when', () => {
    const servers = status.servers.map((server) => ({ ...server, departedAt: '2026-01-01T00:03:00Z' }));
    const text = statusText({ ...report, status: { ...status, servers } }, now, plain);
    assert.match(text, / departed 2 min 0 s ago$/m);
    assert.doesNotMatch(text, /,stale| stale$/m);
  });

  it('has colours where they are asked for, and says the same without', () => {
    const colored = statusText(report, now, { ...plain, isColored: true });
    assert.ok(colored.includes('\u001b[31munhealthy (unreachable) 2 min 0 s\u001b[0m'));
    assert.equal(stripVTControlCharacters(colored), statusText(report, now, plain));
  });

  it('lets no router steer the terminal', () => {
    assert.ok(!statusText(report, now, plain).includes('\u001b'));
  });

  it('has the names of machines beside IDs, where the snapshot knows them', () => {
    const [server] = status.servers;
    assert.ok(server !== undefined);
    const named = snapshotOf({ [server.id]: { hostname: 'cp-1', serves: ['v1/pods'] } });
    const nameless = { ...server, id: 'endpoint-10-0-0-2-6443' };
    const text = statusText(
      {
        status: { ...status, servers: [server, nameless] },
        cluster: clusterView(buildRoutingTable(named)),
      },
      now,
      plain,
    );
    assert.match(text, /^SERVER +HOST +VERSION /m);
    assert.match(text, /^apiserver-2hb4bhxhxpo2wt5sc7ilxj7wxa +cp-1 +v1\.25\.16 /m);
    assert.match(text, /^endpoint-10-0-0-2-6443 +- +v1\.25\.16 /m);
    assert.ok(!statusText(report, now, plain).includes('HOST'));
  });

  it('says so when all servers serve the same', () => {
    const alike = snapshotOf({ a: ['v1/pods'], b: ['v1/pods'] });
    const cluster = clusterView(buildRoutingTable(alike));
    assert.match(statusText({ status, cluster }, now, plain), /All servers serve the same 1 resources/);
  });
});
