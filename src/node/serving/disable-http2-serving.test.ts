import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { connect } from 'node:tls';
import { askHttp1 } from '../../../test/support/node-clients.ts';
import { mirror, startServer } from '../../../test/support/node-server.ts';

async function agreedOn(context: TestContext, port: number, offered: string[]): Promise<unknown> {
  const socket = connect({ port, host: '127.0.0.1', ALPNProtocols: offered, rejectUnauthorized: false });
  context.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket.alpnProtocol;
}

test('clients are offered HTTP/2 first, and HTTP/1.1', async (context) => {
  const { port } = await startServer(context, mirror);
  assert.equal(await agreedOn(context, port, ['http/1.1', 'h2']), 'h2');
  assert.equal(await agreedOn(context, port, ['http/1.1']), 'http/1.1');
});

test('with HTTP/2 switched off clients are offered HTTP/1.1 only, and served by it', async (context) => {
  const { port } = await startServer(context, mirror, { disableHttp2Serving: true });
  assert.equal(await agreedOn(context, port, ['h2', 'http/1.1']), 'http/1.1');
  await assert.rejects(agreedOn(context, port, ['h2']), {
    code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL',
  });
  assert.equal((await askHttp1(port, { path: '/a' })).status, 200);
});
