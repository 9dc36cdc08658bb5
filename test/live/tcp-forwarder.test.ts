import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { freePort } from '../../scripts/harness/free-port.ts';
import { startTcpForwarder, type TcpDestination } from './tcp-forwarder.ts';

/** Says its name to whoever connects, then repeats what it hears. */
async function startEcho(context: TestContext, name: string): Promise<TcpDestination> {
  const server = createServer((socket) => {
    socket.write(name);
    socket.on('error', () => {}).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  context.after(() => server.close());
  const address = server.address();
  assert.ok(address !== null && typeof address !== 'string');
  return { host: '127.0.0.1', port: address.port };
}

async function firstWords(port: number): Promise<[string, Socket]> {
  const socket = connect(port, '127.0.0.1');
  const [data] = await once(socket, 'data');
  return [String(data), socket];
}

test('connections go to each destination in turn, and carry both directions', async (context) => {
  const forwarder = await startTcpForwarder([await startEcho(context, 'a'), await startEcho(context, 'b')]);
  context.after(() => forwarder.close());
  const seen: string[] = [];
  for (let count = 0; count < 4; count++) {
    const [name, socket] = await firstWords(forwarder.port);
    seen.push(name);
    socket.write('ping');
    const [answer] = await once(socket, 'data');
    assert.equal(String(answer), 'ping');
    socket.destroy();
  }
  assert.deepEqual(seen, ['a', 'b', 'a', 'b']);
});

test('a destination that takes no connections is passed over', async (context) => {
  const closed = { host: '127.0.0.1', port: await freePort() };
  const forwarder = await startTcpForwarder([closed, await startEcho(context, 'b')]);
  context.after(() => forwarder.close());
  for (let count = 0; count < 3; count++) {
    const [name, socket] = await firstWords(forwarder.port);
    assert.equal(name, 'b');
    socket.destroy();
  }
});

test('with no destination left the connection is closed', async (context) => {
  const closed = { host: '127.0.0.1', port: await freePort() };
  const forwarder = await startTcpForwarder([closed]);
  context.after(() => forwarder.close());
  const socket = connect(forwarder.port, '127.0.0.1');
  const [hadError] = await once(socket, 'close');
  assert.equal(hadError, false);
});
