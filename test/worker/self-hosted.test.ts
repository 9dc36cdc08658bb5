// The Worker on self-hosted workerd: clients that leave early.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { edgeProcessCluster, startEdge } from '../support/edge/edge-process.ts';

// One that only closes is noticed when something is written to it (docs/guides/edge.md): a FIN may be half of a close.
test('a client that resets its connection ends the request at the server at once, with or without a head', async (context) => {
  const cluster = await edgeProcessCluster(context);
  const { local: server } = cluster;
  const edge = await startEdge(context, cluster);
  const port = Number(new URL(edge.origin).port);
  for (const withHead of [false, true]) {
    const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    server.answer = (outgoing) => {
      outgoing.on('close', end);
      if (withHead) outgoing.write('{"type":"ADDED"}\n');
      arrive();
    };
    const connection = connectTcp(port, '127.0.0.1');
    await once(connection, 'connect');
    const client = connectTls({
      socket: connection,
      ca: cluster.authority.certificate,
      servername: 'localhost',
    });
    client.on('error', () => {});
    await once(client, 'secureConnect');
    client.write('GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: edge\r\nAuthorization: Bearer x\r\n\r\n');
    await arrived;
    if (withHead) await once(client, 'data');
    connection.resetAndDestroy();
    await ended;
  }
  assert.equal(server.requests.length, 2);
});
