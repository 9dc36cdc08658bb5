import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { Hono } from 'hono';
import { routerPair } from '../../../test/support/api-servers/node-exchange.ts';
import { serverOf } from '../../../test/support/api-servers/responses-by-hand.ts';
import { askHttp1, askHttp2, http2Client } from '../../../test/support/clients/node-clients.ts';
import { eventually } from '../../../test/support/eventually.ts';
import type { HandlerEnvironment } from '../../request/inbound.ts';
import { type RequestObserver, RequestRecord } from '../../request/inbound.ts';
import { createRouterServer } from '../serving/server.ts';
import { Deadlines } from './deadlines.ts';
import { ExchangeEnd, nodeInbound } from './node-inbound.ts';

test('the end of an exchange is told to everyone, in order, and once', () => {
  const told: string[] = [];
  const end = new ExchangeEnd();
  end.add(() => told.push('first'));
  end.add(() => told.push('second'));
  end.reached();
  end.reached();
  assert.deepEqual(told, ['first', 'second']);
});

test('whoever asks after the end of an exchange is told at once: a whole response that came in one piece is in flight no more', () => {
  const end = new ExchangeEnd();
  end.reached();
  let isTold = false;
  end.add(() => {
    isTold = true;
  });
  assert.equal(isTold, true);
});

/** Responses with the target as the adapter gives it. */
function appOfTargets(): Hono<HandlerEnvironment> {
  return new Hono<HandlerEnvironment>().all('*', ({ req, env, text }) =>
    text(nodeInbound(req.raw, env).target),
  );
}

test('without a server it gives what the web Request still has', async () => {
  const response = await appOfTargets().request('https://router/a/../b?x=1');
  assert.equal(await response.text(), '/b?x=1');
});

test('the connection is told apart by its client certificate, as the given reader sees it', async (context) => {
  const seen: (string | undefined)[] = [];
  const server = createRouterServer({
    fetch: (_request, { inbound }) => {
      const { clientCertificate, clientCertificateError, remoteAddress } = inbound.connection;
      seen.push(clientCertificate?.commonName, clientCertificateError, remoteAddress);
      return new Response();
    },
    tls: { cert: routerPair.chain, key: routerPair.privateKey },
    clientCertificateOf: () => ({
      clientCertificate: { commonName: 'alice', organizations: [], authority: 'client-ca' },
    }),
  });
  const { port } = await server.listen(0, '127.0.0.1');
  context.after(() => server.close(0));
  const session = http2Client(context, port);
  await once(session, 'connect');
  await askHttp2(session);
  await askHttp1(port);
  assert.deepEqual(seen, ['alice', undefined, '127.0.0.1', 'alice', undefined, '127.0.0.1']);
});

for (const { protocol, method, status } of [
  { protocol: 'HTTP/1.1', method: 'GET', status: 503 },
  { protocol: 'HTTP/1.1', method: 'HEAD', status: 503 },
  { protocol: 'HTTP/1.1', method: 'DELETE', status: 504 },
  { protocol: 'HTTP/2', method: 'GET', status: 503 },
  { protocol: 'HTTP/2', method: 'HEAD', status: 503 },
  { protocol: 'HTTP/2', method: 'DELETE', status: 504 },
]) {
  test(`a ${method} by ${protocol} whose time is over gets a ${status}, and observers are told of it`, async (context) => {
    let now = 0;
    const deadlines = new Deadlines({ timeout: 5_000, clock: () => now });
    context.after(() => deadlines.stop());
    const { port, handled } = await serverOf(context, { deadlines });
    const asking =
      protocol === 'HTTP/2' ? askHttp2(http2Client(context, port), { method }) : askHttp1(port, { method });
    await eventually(() => handled.length === 1);
    const [{ inbound } = assert.fail()] = handled;
    const told: unknown[] = [];
    const observer: RequestObserver = {
      responded: (record) => told.push(record.dropped, record.status),
      finished: () => told.push('finished'),
    };
    inbound.record = new RequestRecord(inbound, [observer], () => now);
    inbound.limitDuration();
    now = 10_000;
    deadlines.check();
    const response = await asking;
    assert.equal(response.status, status);
    const content = method === 'HEAD' ? '' : `"code":${status}}\n`;
    assert.ok(response.body.toString().endsWith(content), response.body.toString());
    await eventually(() => told.length === 3);
    assert.deepEqual(told, ['RequestTimeout', status, 'finished']);
  });
}
