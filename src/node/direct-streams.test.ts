import assert from 'node:assert/strict';
import { constants } from 'node:http2';
import { test } from 'node:test';
import { askHttp2, http2Client } from '../../test/support/node-clients.ts';
import { routerPair } from '../../test/support/node-exchange.ts';
import type { DirectLane } from '../proxy/direct-lane.ts';
import { createRouterServer, type RouterServerOptions } from './server.ts';

const tls = { cert: routerPair.chain, key: routerPair.privateKey };

async function serve(
  context: { after(cleanup: () => unknown): void },
  handle: DirectLane['handle'],
  fetch: RouterServerOptions['fetch'] = () => assert.fail('not by the fetch handler'),
): Promise<number> {
  const directLane: DirectLane = { takes: (target) => target.startsWith('/direct'), handle };
  const server = createRouterServer({ fetch, directLane, tls, clientCertificateOf: () => ({}) });
  const { port } = await server.listen(0, '127.0.0.1');
  context.after(() => server.close(0));
  return port;
}

test('an answer of the router’s own is written to a stream that was taken directly', async (context) => {
  const port = await serve(context, async ({ target }) => new Response(`took ${target}`, { status: 404 }));
  const { status, body } = await askHttp2(http2Client(context, port), { path: '/direct?a=%2F' });
  assert.equal(status, 404);
  assert.equal(body.toString(), 'took /direct?a=%2F');
});

test('what the lane does not take reaches the fetch handler as a request, without objects of Node’s', async (context) => {
  const port = await serve(
    context,
    () => assert.fail('not by the lane'),
    async (request, { incoming }) => {
      const { method, url, headers } = request;
      const text = await request.text();
      return Response.json({
        method,
        url,
        header: headers.get('x-test'),
        text,
        hasObject: incoming !== undefined,
      });
    },
  );
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

test('a fault of the lane resets its own stream, and the connection serves on', async (context) => {
  const port = await serve(context, async ({ target }) => {
    if (target === '/direct/fault') throw new Error('a fault');
    return new Response('served');
  });
  const session = http2Client(context, port);
  const stream = session.request({ ':path': '/direct/fault' });
  const code = await new Promise((resolve) => {
    stream.on('error', () => {});
    stream.on('close', () => resolve(stream.rstCode));
  });
  assert.equal(code, constants.NGHTTP2_INTERNAL_ERROR);
  assert.equal((await askHttp2(session, { path: '/direct' })).body.toString(), 'served');
});

test('a client that resets a stream before its answer is seen, and the answer is not written', async (context) => {
  const finished = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const port = await serve(context, async (inbound) => {
    if (inbound.target !== '/direct/reset') return new Response('served');
    inbound.onFinished?.(finished.resolve);
    begun.resolve();
    await finished.promise;
    return new Response('too late');
  });
  const session = http2Client(context, port);
  const stream = session.request({ ':path': '/direct/reset' });
  stream.on('error', () => {});
  await begun.promise;
  stream.close(constants.NGHTTP2_CANCEL);
  await finished.promise;
  assert.equal((await askHttp2(session, { path: '/direct' })).body.toString(), 'served');
});
