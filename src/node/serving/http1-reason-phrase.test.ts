import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rawClient } from '../../../test/support/node-clients.ts';
import { startPeer } from '../../../test/support/node-exchange.ts';
import { startRouter } from '../../../test/support/node-router.ts';
import { readUntil } from '../../../test/support/tls-client.ts';

test('a response of a server that speaks HTTP/2 gets the standard reason phrase over HTTP/1.1', async (context) => {
  const peer = await startPeer(context, 'h2', (incoming, outgoing) => {
    outgoing.writeHead(Number(incoming.url?.slice(1)), { 'content-length': '0' });
    outgoing.end();
  });
  const router = await startRouter(context, { destination: peer.destination });
  const client = await rawClient(context, router.port);
  for (const line of ['200 OK', '201 Created', '404 Not Found', '422 Unprocessable Entity', '299 ']) {
    client.write(`GET /${line.slice(0, 3)} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const head = await readUntil(client, '\r\n\r\n');
    assert.equal(head.slice(0, head.indexOf('\r\n')), `HTTP/1.1 ${line}`);
  }
});
