import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { ExampleApiServer, KubernetesVersionName } from '../demo/example-api-server/index.ts';
import { runCommandLine } from '../src/cli/run-command-line.ts';
import { createLineLogger } from '../src/node/logging/line-logger.ts';
import { openEmbeddedSync } from '../src/sync/node/embedded-sync.ts';
import { setEndpoints } from './support/api-servers/kubernetes-endpoints.ts';
import type { EmbeddedCluster } from './support/clusters/embedded-cluster.ts';
import { askRouter, eventuallyReturns, startSync, syncCluster } from './support/clusters/sync-cluster.ts';
import { flagArguments } from './support/commands/command.ts';
import { commandContext } from './support/commands/command-context.ts';
import { eventually } from './support/eventually.ts';
import { writeKubeadmLayout } from './support/installation/kubeadm-layout.ts';
import { startRouterByFlags } from './support/routers/router-by-flags.ts';

const pods = '/api/v1/namespaces/default/pods';
/** The group versions that 1.25 serves last, and 1.26 first. */
const last = '/apis/flowcontrol.apiserver.k8s.io/v1beta1/flowschemas';
const first = '/apis/flowcontrol.apiserver.k8s.io/v1beta3/flowschemas';

const ofServerId = (warnings: readonly string[]) =>
  warnings.filter((warning) => warning.includes('--server-id'));

const endpointId = ({ port }: ExampleApiServer) => `endpoint-127-0-0-1-${port}`;

/** A client with the rights of the sync job, by HTTP/1.1. */
function client(context: TestContext, { credentials }: EmbeddedCluster) {
  const { certificateAuthorities: ca, clientCertificate } = credentials;
  const agent = new Agent({
    allowH2: false,
    connect: { ca, cert: clientCertificate.certificate, key: clientCertificate.key },
  });
  context.after(() => agent.destroy());
  return async (origin: string, path: string) => {
    const { statusCode, body } = await request(`${origin}${path}`, { dispatcher: agent });
    return { status: statusCode, text: await body.text() };
  };
}

/** Servers without Leases where they are of 1.25, and for each the flags of a router that finds the rest. */
async function nodes(context: TestContext, versions: readonly KubernetesVersionName[]) {
  const cluster = await syncCluster(context);
  const servers: ExampleApiServer[] = [];
  for (const [index, version] of versions.entries()) {
    servers.push(
      await cluster.startServer({ version, name: `cp-${index}`, hasIdentityLease: version !== '1.25' }),
    );
  }
  setEndpoints(cluster.store, servers);
  const flags = await Promise.all(
    servers.map(async (server) => {
      const folder = join(cluster.directory, `kubernetes-${server.port}`);
      const manifest = await writeKubeadmLayout(folder, cluster.certificates, { securePort: server.port });
      return {
        kubeconfig: [await cluster.kubeconfig(server)],
        // All nodes of this test are on loopback of one machine.
        'kube-apiserver-manifest': [manifest],
        'bind-address': ['127.0.0.1'],
        'secure-port': ['0'],
        'allow-loopback-peers': ['true'],
      };
    }),
  );
  return { cluster, servers, flags };
}

async function startNodes(context: TestContext, versions: readonly KubernetesVersionName[]) {
  const { cluster, servers, flags } = await nodes(context, versions);
  const routers = await Promise.all(
    flags.map(async (own) => {
      const lines: string[] = [];
      const logger = createLineLogger({ format: 'json', verbosity: 3 }, (line) => lines.push(line));
      const { origin, close } = await startRouterByFlags(
        { ...own, v: ['3'] },
        { logger, more: { openEmbeddedSync } },
      );
      context.after(() => close(0));
      return { origin, log: () => lines.join('\n'), ...askRouter(context, origin, cluster) };
    }),
  );
  return { cluster, servers, routers };
}

const knows = (ids: readonly string[]) => (status: { readonly servers: readonly { id: string }[] }) =>
  status.servers
    .map(({ id }) => id)
    .sort()
    .join() === ids.toSorted().join();

/**
 * The same, once the router has asked each of them itself. One that has never asked a server cannot tell since when others may
 * know that another process runs it, and waits ten seconds.
 */
const hasAsked =
  (ids: readonly string[]) =>
  ({ servers }: { readonly servers: readonly { id: string; health: { status: string } }[] }) =>
    knows(ids)({ servers }) && servers.every(({ health }) => health.status === 'ready');

/** A command line in this process, with the files of this machine. */
async function run(...args: string[]) {
  const { context, written } = commandContext(new Map());
  const code = await runCommandLine(args, { ...context, readFile: (path) => readFileSync(path, 'utf8') });
  return { code, ...written };
}

test('doctor finds a server without an identity Lease by its endpoint', async (context) => {
  const { servers, flags } = await nodes(context, ['1.25', '1.26']);
  const [server, own] = [servers[0] ?? assert.fail(), flags[0] ?? assert.fail()];
  const doctor = await run('doctor', ...flagArguments(own), '-o', 'json');
  const findings: readonly { check: string; message: string }[] = JSON.parse(doctor.output);
  const told = findings.find(({ check }) => check === 'server ID');
  assert.equal(told?.message, endpointId(server), doctor.output);
});

test('a router finds a server without an identity Lease by its endpoint, and knows it by its Lease once it has one', async (context) => {
  const { cluster, servers, routers } = await startNodes(context, ['1.25', '1.25']);
  const [own, peer] = [servers[0] ?? assert.fail(), servers[1] ?? assert.fail()];
  const router = routers[0] ?? assert.fail();
  const before = await eventuallyReturns(router.status, knows(servers.map(endpointId)));
  assert.equal(before.serverId, endpointId(own));
  assert.deepEqual(ofServerId(before.warnings), []);

  await own.close();
  const upgraded = await cluster.startServer({ version: '1.26', name: 'cp-0', port: own.port });
  const ids = [upgraded.serverId, endpointId(peer)];
  const { serverId, warnings } = await eventuallyReturns(router.status, knows(ids));
  assert.equal(serverId, upgraded.serverId);
  assert.deepEqual(ofServerId(warnings), []);
  assert.match(router.log(), /The local server is in the snapshot now/);
  const { decision, reason } = await router.explain(first);
  assert.deepEqual([decision, reason], ['local', 'ServedLocally']);
  const ask = client(context, cluster);
  await ask(router.origin, first);
  const line = new RegExp(`"URI":"${first}".*"destination":"${upgraded.serverId}"`);
  await eventually(() => line.test(router.log()));
});

test('three routers that found servers of 1.25 without Leases see them upgraded one by one, and no client gets a wrong 404', async (context) => {
  const { cluster, servers, routers } = await startNodes(context, ['1.25', '1.25', '1.26']);
  const running = new Map(servers.map((server) => [server.port, server]));
  const idOf = (server: ExampleApiServer) =>
    server.version === '1.25' ? endpointId(server) : server.serverId;
  const allKnow = () =>
    Promise.all(
      routers.map(({ status }) => eventuallyReturns(status, hasAsked([...running.values()].map(idOf)))),
    );
  await allKnow();
  const ask = client(context, cluster);
  const wrong: string[] = [];
  const rounds = routers.map(() => 0);
  let isOver = false;
  let isLastThere = true;
  const clients = routers.map(async ({ origin }, index) => {
    while (!isOver) {
      for (const path of [pods, first, last]) {
        // A response that has begun breaks off with its server, which does not end gracefully here.
        const { status, text } = await ask(origin, path).catch(() => ({ status: 0, text: '' }));
        const isServed = path !== last || isLastThere;
        if (isServed && (status === 404 || text.includes('LoopDetected'))) {
          wrong.push(`${origin}${path}: ${status} ${text}`);
        }
      }
      rounds[index] = (rounds[index] ?? 0) + 1;
      // Leaves the machine to what is waited for.
      await pause(50);
    }
  });
  /** Until each client has had responses to all it asks, and has asked once more. */
  const twoRounds = () => {
    const before = [...rounds];
    return eventually(() => rounds.every((count, index) => count >= (before[index] ?? 0) + 2));
  };
  await twoRounds();
  for (const [index, server] of servers.slice(0, 2).entries()) {
    // With the last server of 1.25 goes what only it serves.
    if (index === 1) isLastThere = false;
    await server.close();
    const upgraded = await cluster.startServer({ version: '1.26', name: `cp-${index}`, port: server.port });
    running.set(server.port, upgraded);
    await allKnow();
    await twoRounds();
  }
  isOver = true;
  await Promise.all(clients);
  assert.deepEqual(wrong, []);
  for (const [index, { status }] of routers.entries()) {
    const { serverId, warnings } = await status();
    assert.equal(serverId, running.get(servers[index]?.port ?? 0)?.serverId);
    assert.deepEqual(ofServerId(warnings), []);
  }
});

test('a snapshot that has the local server at the address of its own router does not send its requests round', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.25', name: 'cp-a' });
  const b = await cluster.startServer({ version: '1.36', name: 'cp-b' });
  const router = await cluster.startRouter(a, { 'advertise-address': ['127.0.0.1'] });
  const { port } = new URL(router.origin);
  const byEndpoint = `endpoint-127-0-0-1-${port}`;
  await startSync(context, {
    ...cluster.credentials,
    servers: [
      { id: byEndpoint, address: `127.0.0.1:${port}`, readFrom: a.url },
      { id: b.serverId, url: b.url },
    ],
    routers: [{ url: router.origin }],
  });
  const { status, explain } = askRouter(context, router.origin, cluster);
  const { serverId, warnings } = await eventuallyReturns(status, ({ servers }) => servers.length === 2);
  assert.equal(serverId, byEndpoint);
  assert.deepEqual(ofServerId(warnings), []);
  const { decision, reason } = await explain(last);
  assert.deepEqual([decision, reason], ['local', 'ServedLocally']);
  const answer = await client(context, cluster)(router.origin, last);
  assert.equal(answer.status, 200, answer.text);
  // The address that the router advertises is for that server, too.
  await eventuallyReturns(status, ({ servers }) =>
    servers.some(({ id, addressSource }) => id === byEndpoint && addressSource === 'advertised'),
  );
});

test('a server whose new Lease has the address of its router is read where the router reaches it', async (context) => {
  const cluster = await syncCluster(context);
  const b = await cluster.startServer({ version: '1.36', name: 'cp-b' });
  const first = await cluster.startRouter(b);
  const { port } = new URL(first.origin);
  await first.close();
  const a = await cluster.startServer({
    version: '1.26',
    name: 'cp-a',
    advertiseAddress: `127.0.0.1:${port}`,
  });
  const router = await cluster.startRouter(a, {
    'snapshot-keys': undefined,
    kubeconfig: [await cluster.kubeconfig(b)],
    'secure-port': [port],
    // As it was found before there was a Lease.
    'server-id': [`endpoint-127-0-0-1-${port}`],
  });
  const { status } = askRouter(context, router.origin, cluster);
  const { servers, serverId } = await eventuallyReturns(status, knows([a.serverId, b.serverId]));
  assert.equal(serverId, a.serverId);
  assert.deepEqual(
    servers.map(({ id, stale }) => [id, stale]),
    [a, b].map((server) => [server.serverId, false]).sort(),
  );
});
