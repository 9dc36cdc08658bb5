import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { test } from 'node:test';
import { askHttp2, http2Client } from '../../../test/support/node-clients.ts';
import { routerPair } from '../../../test/support/node-exchange.ts';
import { createRouterServer, type RouterServerOptions } from '../../node/server.ts';

const tls = { cert: routerPair.chain, key: routerPair.privateKey };

async function serve(
  context: { after(cleanup: () => unknown): void },
  fetch: RouterServerOptions['fetch'],
): Promise<number> {
  const server = createRouterServer({ fetch, tls, clientCertificateOf: () => ({}) });
  const { port } = await server.listen(0, '127.0.0.1');
  context.after(() => server.close(0));
  return port;
}

test('a response of the fetch handler is written to the stream of its request', async (context) => {
  const port = await serve(
    context,
    (_request, { inbound: { target } }) => new Response(`took ${target}`, { status: 404 }),
  );
  const { status, body } = await askHttp2(http2Client(context, port), { path: '/path?a=%2F' });
  assert.equal(status, 404);
  assert.equal(body.toString(), 'took /path?a=%2F');
});

test('the fetch handler gets a request whose parts are there when they are asked for, without objects of Node’s', async (context) => {
  const port = await serve(context, async (request, { incoming }) => {
    assert.ok(request instanceof Request);
    const { method, url, headers } = request;
    const text = await request.clone().text();
    assert.equal(await request.text(), text);
    assert.equal(request.bodyUsed, true);
    return Response.json({
      method,
      url,
      header: headers.get('x-test'),
      text,
      hasObject: incoming !== undefined,
    });
  });
  const { body } = await askHttp2(http2Client(context, port), {
    method: 'PUT',
    path: '/other?a=%2F',
    headers: ['x-test', 'a', 'x-test', 'b'],
    body: 'content',
  });
  assert.deepEqual(JSON.parse(body.toString()), {
    method: 'PUT',
    url: 'https://localhost/other?a=%2F',
    header: 'a, b',
    text: 'content',
    hasObject: false,
  });
});

test('a fetch handler that fails is a 500, and the connection serves on', async (context) => {
  const port = await serve(context, async (_request, { inbound }) => {
    if (inbound.target === '/fault') throw new Error('a fault');
    return new Response('served');
  });
  const session = http2Client(context, port);
  assert.equal((await askHttp2(session, { path: '/fault' })).status, 500);
  assert.equal((await askHttp2(session, { path: '/' })).body.toString(), 'served');
});

test('a client that resets a stream before its answer is seen, and the answer is not written', async (context) => {
  const finished = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const port = await serve(context, async (_request, { inbound }) => {
    if (inbound.target !== '/reset') return new Response('served');
    inbound.onFinished(finished.resolve);
    begun.resolve();
    await finished.promise;
    return new Response('too late');
  });
  const session = http2Client(context, port);
  const stream = session.request({ ':path': '/reset' });
  stream.on('error', () => {});
  await begun.promise;
  stream.close(constants.NGHTTP2_CANCEL);
  await finished.promise;
  assert.equal((await askHttp2(session, { path: '/' })).body.toString(), 'served');
});
