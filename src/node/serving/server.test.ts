import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { askHttp1, askHttp2, http2Client, rawClient } from '../../../test/support/clients/node-clients.ts';
import { readUntil } from '../../../test/support/clients/tls-client.ts';
import { startServer as start } from '../../../test/support/routers/node-server.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import type { NodeBindings } from '../exchange/node-inbound.ts';

describe('the request as it stood on the wire', () => {
  test('the body can be read as a web stream', async (context) => {
    const { port } = await start(
      context,
      async (_request, { inbound }) => new Response(await new Response(inbound.body()).text()),
    );
    assert.equal((await askHttp1(port, { method: 'PUT', body: 'one' })).body.toString(), 'one');
    const session = http2Client(context, port);
    assert.equal((await askHttp2(session, { method: 'PUT', body: 'two' })).body.toString(), 'two');
    assert.equal((await askHttp2(session, { method: 'GET' })).body.toString(), '');
  });
});

describe('responses of the app', () => {
  test('a handler that throws ends in a 500 Status that tells nothing', async (context) => {
    const throwing = (): never => {
      throw new Error('secret detail');
    };
    const { port } = await start(context, throwing);
    const response = await askHttp1(port);
    assert.equal(response.status, 500);
    assert.match(response.body.toString(), /"reason":"InternalError"/);
    assert.doesNotMatch(response.body.toString(), /secret/);
    const rejecting = await start(context, async () => Promise.reject(new Error('secret detail')));
    assert.equal((await askHttp2(http2Client(context, rejecting.port))).status, 500);
  });

  test('a response that cannot be written ends its exchange, over HTTP/1.1 and HTTP/2, and not the process', async (context) => {
    const takenUnlessOther = (_request: Request, { inbound }: NodeBindings) => {
      const response = new Response('read by somebody else');
      if (inbound.target !== '/other') response.body?.getReader();
      return response;
    };
    const { port } = await start(context, takenUnlessOther);
    await assert.rejects(askHttp1(port), { code: 'ECONNRESET' });
    const session = http2Client(context, port);
    await assert.rejects(askHttp2(session), { code: 'ERR_HTTP2_STREAM_ERROR' });
    assert.equal((await askHttp2(session, { path: '/other' })).status, 200);
    assert.equal((await askHttp1(port, { path: '/other' })).status, 200);
  });

  test('an early 503 reaches a client in the middle of a large upload, and the connection lives on', async (context) => {
    const { port } = await start(context, (_request, { inbound }) =>
      inbound.method === 'POST' ? statusResponse('ServiceUnavailable', 'not now') : new Response('next'),
    );
    const client = await rawClient(context, port);
    const length = 8 * 1024 * 1024;
    client.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`);
    client.write(Buffer.alloc(length / 2));
    assert.match(await readUntil(client, '"code":503}\n'), /^HTTP\/1\.1 503 /);
    client.write(Buffer.alloc(length / 2));
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.match(await readUntil(client, 'next'), /^HTTP\/1\.1 200 /);
  });
});
