import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startEndpointServer } from './endpoint-server.ts';
import { listenError } from './server-error.ts';

test('an address that is in use is named as it would be written, an IPv6 one in brackets', () => {
  const inUse = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' });
  assert.match(listenError(inUse, '10.0.0.1', 6443, '--bind-address').message, /^10\.0\.0\.1:6443 is in use/);
  assert.match(listenError(inUse, '::', 6443, '--bind-address').message, /^\[::\]:6443 is in use/);
});

test('a connection that never asks does not keep a server from closing', async (context) => {
  const server = await startEndpointServer({
    host: '127.0.0.1',
    port: 0,
    fetch: () => new Response(),
    flag: '--bind-address',
  });
  const silent = connect(Number(new URL(server.origin).port), '127.0.0.1');
  context.after(() => silent.destroy());
  await once(silent, 'connect');
  await Promise.all([once(silent, 'close'), server.close()]);
});

test('attack: connections that never ask keep no probe out', async (context) => {
  const server = await startEndpointServer({
    host: '127.0.0.1',
    port: 0,
    fetch: () => new Response('ok'),
    flag: '--bind-address',
  });
  context.after(() => server.close());
  const silent = Array.from({ length: 256 }, () => connect(Number(new URL(server.origin).port), '127.0.0.1'));
  const ended = silent.map((socket) =>
    once(
      socket.on('error', () => {}),
      'close',
    ),
  );
  await Promise.all(silent.map((socket) => once(socket, 'connect')));
  assert.equal(await (await fetch(server.origin)).text(), 'ok');
  await Promise.race(ended);
  for (const socket of silent) socket.destroy();
});
