// Self-hosted workerd, and clients that leave before they have an answer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { startWorkerd } from '../../scripts/edge/start-workerd.ts';
import { edgeCluster, edgeTlsOf, startEdge } from '../support/edge/edge-under-test.ts';

for (const how of ['reset', 'close']) {
test(`exp ${how}`, async (context) => {
  const cluster = await edgeCluster(context);
  const edge = await startEdge(context, startWorkerd, {
    directory: await cluster.directory(),
    tls: edgeTlsOf(cluster, false),
    environment: cluster.environment,
  });
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
  const { promise: gone, resolve: leave } = Promise.withResolvers<void>();
  cluster.local.answer = (request: any, response: any) => {
    arrive();
    response.on('close', leave);
  };
  const { port } = new URL(edge.origin);
  const socket = connect({ port: Number(port), host: '127.0.0.1', ca: cluster.authority.certificate });
  await once(socket, 'secureConnect');
  socket.write('GET /api/v1/pods HTTP/1.1\r\nHost: edge\r\nAuthorization: Bearer x\r\n\r\n');
  await arrived;
  const t = Date.now();
  if (how === 'reset') (socket as any)._parent?.resetAndDestroy?.() ?? socket.resetAndDestroy(); else socket.destroy();
  const r = await Promise.race([gone.then(() => 'gone'), new Promise((r) => setTimeout(r, 5000, 'still there'))]);
  console.log(how, r, Date.now() - t);
});
}
