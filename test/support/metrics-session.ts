import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  type AddressInfo,
  connect as connectTcp,
  createServer as createTcpServer,
  type Socket,
} from 'node:net';
import type { TestContext } from 'node:test';
import { loadBalancer, mixedCluster, type ObservedRouter, unreachableExtension } from './observed-router.ts';
import { type ParsedFamily, sampleValue } from './prometheus-text.ts';
import { collectGarbage } from './security/memory.ts';
import { snapshotOf } from './snapshot-builder.ts';
import { openHttp1, openHttp2, readUntil } from './tls-client.ts';

/** Does whatever makes a series of each metric. */
export async function playSession(context: TestContext, router: ObservedRouter): Promise<void> {
  const { started, ask, push, peer } = router;
  const ca = started.authorities.cluster.certificate;
  await push(mixedCluster(peer));
  await push(mixedCluster(peer));
  await ask('/apis/batch/v1/jobs');
  assert.equal((await ask('/apis/policy/v1/evictions')).status, 503);
  assert.equal((await ask('/apis/lost/v1/things')).status, 503);
  assert.equal((await ask('/apis/metrics.k8s.io/v1beta1/nodes')).status, 503);
  await ask('/apis', { headers: ['accept', 'application/json;profile=nopeer'] });
  const pair = await started.user('someone');
  const exec = await openHttp1(context, { port: started.port, ca, pair });
  const path = '/api/v1/namespaces/a/pods/b/exec';
  exec.write(`POST ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`);
  await readUntil(exec, '101 Switching Protocols');
  const malformed = await openHttp1(context, { port: started.port, ca });
  malformed.write('GET / HTTP/1.1\r\n folded: line\r\n\r\n');
  await readUntil(malformed, '400 Bad Request');
  const plain = connectTcp(started.port, '127.0.0.1', () => plain.write('GET / HTTP/1.1\r\n\r\n'));
  plain.on('error', () => {});
  context.after(() => plain.destroy());
  await once(plain.resume(), 'close');
  const balancer = connectTcp({ port: started.port, host: '127.0.0.1', localAddress: loadBalancer });
  balancer.on('error', () => {});
  balancer.write('no PROXY header');
  await once(balancer.resume(), 'close');
  collectGarbage();
  await leaveUnanswered(context, router);
  const probes = 'mixed_version_proxy_destination_probes_total';
  await scrapeUntil(router, (families) => (families.get(probes)?.samples.length ?? 0) > 0);
}

/** A client that goes away while the server that it waits for says nothing. */
async function leaveUnanswered(context: TestContext, router: ObservedRouter): Promise<void> {
  const sockets: Socket[] = [];
  const silent = createTcpServer((socket) => {
    sockets.push(socket.on('error', () => {}));
  });
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  context.after(() => {
    silent.close();
    for (const socket of sockets) socket.destroy();
  });
  const { port } = silent.address() as AddressInfo;
  const withSilent = snapshotOf(
    {
      'cp-a': { serves: ['v1/pods', 'v1/pods/exec'], address: '127.0.0.1:1' },
      'cp-b': { serves: ['v1/pods', 'batch/v1/jobs'], address: `127.0.0.1:${router.peer.port}` },
      'cp-c': { serves: ['policy/v1/evictions'], address: '127.0.0.1:1' },
      'cp-e': { serves: ['apps/v1/deployments'], address: `127.0.0.1:${port}` },
    },
    { generation: 2, apiServices: [unreachableExtension] },
  );
  assert.equal((await router.push(withSilent)).status, 200);
  const ca = router.started.authorities.cluster.certificate;
  const pair = await router.started.user('impatient');
  const client = openHttp2(context, { port: router.started.port, ca, pair });
  const request = client.request({ ':path': '/apis/apps/v1/deployments' });
  request.on('error', () => {});
  const inflight = 'mixed_version_proxy_destination_inflight_requests';
  await scrapeUntil(router, (families) => sampleValue(families, inflight, { destination: 'cp-e' }) === 1);
  request.close(8);
  const aborts = 'mixed_version_proxy_request_aborts_total';
  await scrapeUntil(router, (families) => sampleValue(families, aborts, { verb: 'LIST' }) === 1);
}

async function scrapeUntil(
  router: ObservedRouter,
  condition: (families: ReadonlyMap<string, ParsedFamily>) => boolean,
): Promise<void> {
  while (!condition(await router.scrape()));
}
