import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { rawClient, readToEnd } from '../../../test/support/node-clients.ts';
import { get, serverOf } from '../../../test/support/responses-by-hand.ts';
import { readUntil } from '../../../test/support/tls-client.ts';

test('a connection on which nothing is ever asked ends, and one that falls silent, but none that waits', async (context) => {
  const limits = { keepAliveTimeout: 60, headersTimeout: 60, connectionsCheckingInterval: 10 };
  const { port, handled } = await serverOf(context, { limits });
  const silent = await rawClient(context, port);
  const waiting = await rawClient(context, port);
  waiting.write(get('/wait'));
  const asking = await rawClient(context, port);
  asking.write(get('/ask'));
  await eventually(() => handled.length === 2);
  const response = (target: string): void =>
    handled.find(({ inbound }) => inbound.target === target)?.respond(new Response('answered'));
  response('/ask');
  assert.match(await readToEnd(asking), /\r\nKeep-Alive: timeout=0\r\n.*answered$/s);
  assert.equal(await readToEnd(silent), '');
  // One that is opened later has ended, too: whoever waits has had all the time that any has.
  assert.equal(await readToEnd(await rawClient(context, port)), '');
  response('/wait');
  assert.match(await readToEnd(waiting), /answered$/);
});

test('draining ends what is idle, and tells who waits that this response is the last', async (context) => {
  const { port, server, handled } = await serverOf(context);
  const clients = [await rawClient(context, port), await rawClient(context, port)];
  const [idle, waiting] = clients as [(typeof clients)[0], (typeof clients)[0]];
  const unused = await rawClient(context, port);
  idle.write(get('/idle'));
  await eventually(() => handled.length === 1);
  handled[0]?.respond(new Response('first.'));
  await readUntil(idle, 'first.');
  waiting.write(get('/wait'));
  await eventually(() => handled.length === 2);
  server.drain();
  await readToEnd(idle);
  handled[1]?.respond(new Response('last.'));
  assert.match(await readToEnd(waiting), /\r\nConnection: close\r\n.*last\.$/s);
  assert.equal(await readToEnd(unused), '');
});

test('closing lets a client that reads slowly have the end of its response', async (context) => {
  const { port, server, handled } = await serverOf(context);
  const idle = await rawClient(context, port);
  idle.write(get('/idle'));
  await eventually(() => handled.length === 1);
  handled[0]?.respond(new Response('first.'));
  await readUntil(idle, 'first.');
  const client = await rawClient(context, port);
  client.write(get('/large'));
  await eventually(() => handled.length === 2);
  const length = 16 * 1024 * 1024;
  handled[1]?.respond(new Response('x'.repeat(length)));
  // All of it has been written here; most of it waits for the client.
  await readUntil(client, '\r\n\r\n');
  const closed = server.close(60_000);
  // It ends at once whom it owes nothing.
  await readToEnd(idle);
  assert.ok((await readToEnd(client)).length > length - 100_000);
  await closed;
});
