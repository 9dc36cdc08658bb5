import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { test } from 'node:test';
import { startAdapter } from '../../../test/support/http2-adapter.ts';
import { askHttp2, http2Client } from '../../../test/support/node-clients.ts';

test('the fetch handler gets a request whose parts are there when they are asked for', async (context) => {
  const { port } = await startAdapter(context, async (request) => {
    assert.ok(request instanceof Request);
    const { method, url, headers } = request;
    const copy = request.clone();
    const text = await request.text();
    assert.equal(await copy.text(), text);
    assert.equal(request.bodyUsed, true);
    return Response.json({ method, url, header: headers.get('x-test'), text });
  });
  const { body } = await askHttp2(http2Client(context, port), {
    method: 'PUT',
    path: '/other?a=%2F',
    headers: ['x-test', 'a', 'x-test', 'b'],
    body: 'content',
  });
  assert.deepEqual(JSON.parse(body.toString()), {
    method: 'PUT',
    url: `https://127.0.0.1:${port}/other?a=%2F`,
    header: 'a, b',
    text: 'content',
  });
});

test('a URL names the host that the client asks for, or the one of the options, and the target as it came', async (context) => {
  const tellUrl = (request: Request) => new Response(request.url);
  const { port } = await startAdapter(context, tellUrl);
  const session = http2Client(context, port);
  const ask = async (asked: typeof session, headers: Record<string, string>): Promise<string> => {
    const stream = asked.request(headers).setEncoding('utf8');
    return (await stream.toArray()).join('');
  };
  assert.equal(
    await ask(session, { ':path': '/a/../b\\c', ':authority': 'Host.example:8443' }),
    'https://Host.example:8443/a/../b\\c',
  );
  assert.equal(
    await ask(session, { ':method': 'OPTIONS', ':path': '*', ':authority': '[::1]' }),
    'https://[::1]/',
  );
  const fixed = await startAdapter(context, tellUrl, { host: 'localhost' });
  assert.equal(
    await ask(http2Client(context, fixed.port), { ':path': '/', ':authority': 'a:b' }),
    'https://localhost/',
  );
});

test('a method that `Request` does not take, or spells its own way, is told as it came', async (context) => {
  const { port } = await startAdapter(context, (request) => {
    const { method } = request;
    return new Response(request.headers.has('x-test') ? `${method} ${request.method}` : '');
  });
  for (const method of ['TRACE', 'get', 'PROPFIND']) {
    const { body } = await askHttp2(http2Client(context, port), { method, headers: ['x-test', 'a'] });
    assert.equal(body.toString(), `${method} ${method}`);
  }
});

test('the signal is aborted when the client resets its stream, not when it has its response', async (context) => {
  const signals: AbortSignal[] = [];
  const asked = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const { port } = await startAdapter(context, async (request) => {
    const { signal } = request;
    signals.push(signal);
    if (!request.url.endsWith('/reset')) return new Response('answered');
    signal.addEventListener('abort', () => aborted.resolve());
    asked.resolve();
    await aborted.promise;
    return new Response('too late');
  });
  const session = http2Client(context, port);
  const stream = session.request({ ':path': '/reset' });
  stream.on('error', () => {});
  await asked.promise;
  stream.close(constants.NGHTTP2_CANCEL);
  await aborted.promise;
  assert.equal((await askHttp2(session)).body.toString(), 'answered');
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [true, false],
  );
});

test('a body whose client takes it back fails, and does not pass for the whole', async (context) => {
  const begun = Promise.withResolvers<void>();
  const read = Promise.withResolvers<unknown>();
  const { port } = await startAdapter(context, async (request) => {
    const reader = request.body?.getReader();
    await reader?.read();
    begun.resolve();
    read.resolve(await reader?.read().catch((error: unknown) => error));
    return new Response(null);
  });
  const session = http2Client(context, port);
  const stream = session.request({ ':method': 'POST' }, { endStream: false });
  stream.on('error', () => {});
  stream.write('a part');
  await begun.promise;
  // A stream that is closed by itself Node ends in good order first.
  session.destroy();
  assert.ok((await read.promise) instanceof Error);
});
