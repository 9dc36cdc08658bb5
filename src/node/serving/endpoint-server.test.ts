import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { test } from 'node:test';
import { serving } from '../../../test/support/client-certificate-server.ts';
import { everyConnectionOf } from './endpoint-server.ts';
import { listenError } from './server-error.ts';

test('an address that is in use is named as it would be written, an IPv6 one in brackets', () => {
  const inUse = Object.assign(new Error('listen EADDRINUSE'), { code: 'EADDRINUSE' });
  assert.match(listenError(inUse, '10.0.0.1', 6443, '--bind-address').message, /^10\.0\.0\.1:6443 is in use/);
  assert.match(listenError(inUse, '::', 6443, '--bind-address').message, /^\[::\]:6443 is in use/);
});

test('a connection whose TLS handshake never ends does not keep a server from closing', async () => {
  const server = createServer({ cert: serving.chain, key: serving.privateKey });
  const cutConnections = everyConnectionOf(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const silent = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(server, 'connection');
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  assert.equal(silent.destroyed, false);
  cutConnections();
  await closed;
  await once(silent, 'close');
});
