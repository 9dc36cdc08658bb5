import assert from 'node:assert/strict';
import { once } from 'node:events';
import { constants } from 'node:http2';
import { describe, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { askHttp1, askHttp2, http2Client, rawClient, readToEnd } from '../../../test/support/node-clients.ts';
import { mirror, startServer as start } from '../../../test/support/node-server.ts';
import { readUntil } from '../../../test/support/tls-client.ts';
import { statusResponse } from '../../apimachinery/status.ts';

describe('the request as it stood on the wire', () => {
  test('keeps its raw target on both protocols', async (context) => {
    const { port } = await start(context, mirror);
    const path = '/api/v1/namespaces/%2e%2e/pods/../x?b=2&a=1';
    assert.equal(JSON.parse((await askHttp1(port, { path })).body.toString()).target, path);
    const overHttp2 = await askHttp2(http2Client(context, port), { path });
    assert.equal(JSON.parse(overHttp2.body.toString()).target, path);
  });

  test('has no pseudo headers on HTTP/2', async (context) => {
    const { port } = await start(context, mirror);
    const response = await askHttp2(http2Client(context, port), {
      headers: ['x-remote-group', 'a', 'x-remote-group', 'b'],
    });
    assert.deepEqual(JSON.parse(response.body.toString()).headers, [
      'x-remote-group',
      'a',
      'x-remote-group',
      'b',
    ]);
  });

  test('an absolute-form target reaches the handler unchanged', async (context) => {
    const { port } = await start(context, mirror);
    const client = await rawClient(context, port);
    client.write('GET https://evil.example/api HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    assert.match(await readToEnd(client), /"target":"https:\/\/evil\.example\/api"/);
  });

  test('the signal aborts when the client goes away, and not when it was answered', async (context) => {
    const aborted = Promise.withResolvers<void>();
    const signals: AbortSignal[] = [];
    const { port } = await start(context, (_request, { inbound }) => {
      signals.push(inbound.signal);
      if (inbound.target === '/answered') return new Response('ok');
      inbound.signal.addEventListener('abort', () => aborted.resolve());
      return new Promise(() => {});
    });
    await askHttp1(port, { path: '/answered' });
    const session = http2Client(context, port);
    await askHttp2(session, { path: '/answered' });
    const stream = session.request({ ':path': '/waiting' });
    stream.on('error', () => {});
    await eventually(() => signals.length === 3);
    stream.close(constants.NGHTTP2_CANCEL);
    await aborted.promise;
    assert.deepEqual(
      signals.map((signal) => signal.aborted),
      [false, false, true],
    );
  });

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
  test('connection headers of a Response reach no HTTP/2 client, and never end the process', async (context) => {
    const { port } = await start(context, (_request, { inbound }) =>
      inbound.target === '/bad'
        ? new Response('x', { headers: { 'keep-alive': 'timeout=5' } })
        : new Response('fine'),
    );
    const session = http2Client(context, port);
    assert.ok(!(await askHttp2(session, { path: '/bad' })).headers.includes('keep-alive'));
    assert.equal((await askHttp2(session)).body.toString(), 'fine');
  });

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

    const stream = http2Client(context, port).request({ ':method': 'POST' });
    stream.write(Buffer.alloc(1024));
    const closed = once(stream, 'close');
    let body = '';
    stream.on('data', (chunk) => {
      body += String(chunk);
    });
    const [head] = await once(stream, 'response');
    await closed;
    assert.equal(head[':status'], 503);
    assert.match(body, /not now/);
    assert.equal(stream.rstCode, constants.NGHTTP2_NO_ERROR);
  });
});

describe('limits', () => {
  test('HTTP/2 clients are told 100 streams', async (context) => {
    const { port } = await start(context, mirror);
    const session = http2Client(context, port);
    const [settings] = await once(session, 'remoteSettings');
    assert.equal(settings.maxConcurrentStreams, 100);
  });

  test('a reset flood ends its connection (CVE-2023-44487), and other clients are served', async (context) => {
    const { port } = await start(context, (_request, { inbound }) =>
      inbound.target === '/served' ? new Response('served') : new Promise(() => {}),
    );
    const flooder = http2Client(context, port);
    const ended = new Promise<void>((resolve) => flooder.once('close', resolve));
    const flood = (): void => {
      for (let round = 0; round < 90 && !flooder.destroyed && !flooder.closed; round++) {
        const stream = flooder.request();
        stream.on('error', () => {});
        stream.close(constants.NGHTTP2_CANCEL);
      }
      if (!flooder.destroyed && !flooder.closed) setImmediate(flood);
    };
    flooder.once('connect', flood);
    await ended;
    assert.equal((await askHttp1(port, { path: '/served' })).body.toString(), 'served');
  });

  test('a 401 ends its HTTP/2 connection in good order, as kube-apiserver does', async (context) => {
    const { port } = await start(context, () => statusResponse('Unauthorized', 'Unauthorized'));
    const session = http2Client(context, port);
    const goaway = once(session, 'goaway');
    assert.equal((await askHttp2(session)).status, 401);
    const [code] = await goaway;
    assert.equal(code, constants.NGHTTP2_NO_ERROR);
  });

  test('an idle HTTP/2 connection ends, one with a quiet stream does not', async (context) => {
    const arrived = Promise.withResolvers<void>();
    const neverResponds = (): Promise<Response> => {
      arrived.resolve();
      return new Promise(() => {});
    };
    const { port } = await start(context, neverResponds, { limits: { keepAliveTimeout: 100 } });
    const busy = http2Client(context, port);
    busy.request().on('error', () => {});
    await arrived.promise;
    // It is the younger one: by the time that it ends, the other has been quiet for longer.
    const idle = http2Client(context, port);
    await once(idle, 'close');
    const answered = Promise.withResolvers<Error | null>();
    busy.ping(answered.resolve);
    assert.equal(await answered.promise, null);
  });
});
