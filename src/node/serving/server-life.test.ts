import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { peerPair } from '../../../test/support/api-servers/node-exchange.ts';
import { askHttp2, http2Client, rawClient } from '../../../test/support/clients/node-clients.ts';
import { readUntil } from '../../../test/support/clients/tls-client.ts';
import {
  mirror,
  startServer as start,
  servingTls as tls,
} from '../../../test/support/routers/node-server.ts';
import { createRouterServer, type RouterServer } from './server.ts';
import { ServerError } from './server-error.ts';

describe('the life of the server', () => {
  test('an address in use says which, and what to do', async (context) => {
    const { port } = await start(context, mirror);
    const second = createRouterServer({ fetch: mirror, tls, clientCertificateOf: () => ({}) });
    await assert.rejects(second.listen(port, '127.0.0.1'), (error) => {
      assert.ok(error instanceof ServerError);
      assert.equal(error.code, 'AddressInUse');
      assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${port} is in use`));
      return true;
    });
  });

  test('an address of another host says so', async () => {
    const server = createRouterServer({ fetch: mirror, tls, clientCertificateOf: () => ({}) });
    await assert.rejects(server.listen(0, '192.0.2.1'), { code: 'AddressNotAvailable' });
  });

  test('a certificate that is none, or not the key’s, is refused at once', () => {
    for (const pair of [
      { cert: 'nonsense', key: tls.key },
      { cert: tls.cert, key: peerPair.privateKey },
    ]) {
      const create = (): RouterServer =>
        createRouterServer({ fetch: mirror, tls: pair, clientCertificateOf: () => ({}) });
      assert.throws(create, { code: 'InvalidServingCertificate' });
    }
  });

  /** Nobody waits for a response on them, and the client never ends them. */
  const quiet: Record<string, (context: TestContext, port: number) => Promise<unknown>> = {
    'no TLS handshake': async (context, port) => {
      const socket = connectTcp(port, '127.0.0.1').on('error', () => {});
      context.after(() => socket.destroy());
      await once(socket, 'connect');
    },
    'HTTP/1.1 without a request': rawClient,
    'half a head': async (context, port) => {
      (await rawClient(context, port)).write('GET / HTTP/1.1\r\nHo');
    },
    'half a head behind a response': async (context, port) => {
      const client = await rawClient(context, port);
      client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await readUntil(client, '"hasBody":false}');
      client.write('GET / HTTP/1.1\r\nHo');
    },
    'an HTTP/2 session that comes up meanwhile': async (context, port) => {
      await once(http2Client(context, port), 'connect');
    },
    'HTTP/2 without a request under way': async (context, port) => {
      await askHttp2(http2Client(context, port));
    },
  };
  for (const [what, open] of Object.entries(quiet)) {
    test(`closing does not wait for ${what}`, { timeout: 60_000 }, async (context) => {
      const { port, server } = await start(context, mirror);
      await open(context, port);
      await server.close(120_000);
    });
  }
});
