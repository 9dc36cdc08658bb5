import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import {
  destinationAt,
  type Protocol,
  startPeer,
  startRawPeer,
} from '../../../test/support/api-servers/node-exchange.ts';
import {
  askHttp1,
  askHttp2,
  http2Client,
  rawClient,
  readToEnd,
} from '../../../test/support/clients/node-clients.ts';
import { startRouter } from '../../../test/support/routers/node-router.ts';
import { failureOf, get, newTransport, send } from '../../../test/support/routers/node-transport.ts';
import type { TransportError } from '../../request/destination.ts';
import { inboundFromRequest } from '../../request/inbound.ts';
import type { NodeBindings } from '../exchange/node-inbound.ts';

const protocols: readonly Protocol[] = ['h2', 'http/1.1'];

/** An origin where nobody listens: a port that was free a moment ago may be somebody else's by now, this one is not. */
const deadOrigin = 'https://127.0.0.1:1';

test('a refused connection: ConnectFailed, nothing arrived, and the body is whole for a second try', async (context) => {
  const peer = await startPeer(context, 'h2', async (incoming, outgoing) => {
    outgoing.end(Buffer.concat(await incoming.toArray()));
  });
  const dead = destinationAt(deadOrigin);
  const failures: TransportError[] = [];
  const transport = newTransport(context);
  const router = await startRouter(context, {
    destination: peer.destination,
    server: {
      fetch: async (_request: Request, { inbound }: NodeBindings) => {
        failures.push(await failureOf(send(transport, dead, inbound)));
        return send(transport, peer.destination, inbound);
      },
    },
  });
  const body = 'x'.repeat(300_000);
  const overHttp1 = await askHttp1(router.port, { method: 'POST', body });
  const overHttp2 = await askHttp2(http2Client(context, router.port), { method: 'POST', body });
  for (const failure of failures) {
    assert.equal(failure.code, 'ConnectFailed');
    assert.equal(failure.mayHaveBeenProcessed, false);
  }
  assert.equal(failures.length, 2);
  assert.equal(overHttp1.body.toString(), body);
  assert.equal(overHttp2.body.toString(), body);
});

test('a body that has gone out is never sent to a second destination', async (context) => {
  const first = await startPeer(context, 'h2', async (incoming, outgoing) => {
    await once(incoming, 'data');
    outgoing.destroy(new Error('crashed'));
  });
  let requests = 0;
  const second = await startPeer(context, 'h2', (_incoming, outgoing) => {
    requests++;
    outgoing.end();
  });
  const transport = newTransport(context);
  const inbound = inboundFromRequest(new Request('https://router/', { method: 'POST', body: 'half' }));
  const failure = await failureOf(send(transport, first.destination, inbound));
  assert.equal(failure.mayHaveBeenProcessed, true);
  assert.equal((await failureOf(send(transport, second.destination, inbound))).mayHaveBeenProcessed, true);
  assert.equal(requests, 0);
});

for (const protocol of protocols) {
  describe(`a destination on ${protocol}`, () => {
    test('that gives no head in time: Timeout, and its request is ended', async (context) => {
      const ended = Promise.withResolvers<void>();
      const peer = await startPeer(context, protocol, (incoming, outgoing) => {
        if (incoming.url === '/first') outgoing.end();
        else outgoing.once('close', ended.resolve);
      });
      const transport = newTransport(context, { headTimeout: 100 });
      // Opens the connection, which would be a part of the time.
      await (await send(transport, peer.destination, get(), { target: '/first', longRunning: true })).text();
      const failure = await failureOf(send(transport, peer.destination));
      assert.equal(failure.code, 'Timeout');
      assert.equal(failure.mayHaveBeenProcessed, true);
      await ended.promise;
    });

    test('whose client goes away before the head: ClientGone, and its request is ended', async (context) => {
      const asked = Promise.withResolvers<void>();
      const ended = Promise.withResolvers<void>();
      const peer = await startPeer(context, protocol, (_incoming, outgoing) => {
        outgoing.once('close', ended.resolve);
        asked.resolve();
      });
      const leaving = new AbortController();
      const inbound = inboundFromRequest(new Request('https://router/', { signal: leaving.signal }));
      const sending = failureOf(send(newTransport(context), peer.destination, inbound));
      await asked.promise;
      leaving.abort();
      assert.equal((await sending).code, 'ClientGone');
      await ended.promise;
    });

    test('answers app.fetch() callers with a web Response, streamed', async (context) => {
      let responding: { write(chunk: string): boolean; end(): unknown } | undefined;
      const peer = await startPeer(context, protocol, (_incoming, outgoing) => {
        outgoing.writeHead(201, { 'audit-id': '7' });
        outgoing.write('one ');
        responding = outgoing;
      });
      const response = await send(newTransport(context), peer.destination);
      assert.equal(response.status, 201);
      assert.equal(response.headers.get('audit-id'), '7');
      const reader = response.body?.getReader();
      assert.ok(reader);
      assert.equal(new TextDecoder().decode((await reader.read()).value), 'one ');
      responding?.write('two');
      assert.equal(new TextDecoder().decode((await reader.read()).value), 'two');
      responding?.end();
      assert.equal((await reader.read()).done, true);
    });

    test('ends its request when a web Response is cancelled', async (context) => {
      const ended = Promise.withResolvers<void>();
      const peer = await startPeer(context, protocol, (_incoming, outgoing) => {
        outgoing.write('one');
        outgoing.once('close', ended.resolve);
      });
      const response = await send(newTransport(context), peer.destination);
      await response.body?.cancel();
      await ended.promise;
    });
  });
}

for (const [what, bytes] of [
  ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
  ...(
    ['gzip, chunked', 'chunked, gzip', 'gzip', 'identity', 'chunked\r\nTransfer-Encoding: gzip'] as const
  ).map(
    (codings) =>
      [
        `coded as ${codings}`,
        `HTTP/1.1 200 OK\r\nTransfer-Encoding: ${codings}\r\n\r\n2\r\nok\r\n0\r\n\r\n`,
      ] as const,
  ),
  ['a 101 that nobody asked for', 'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
] as const) {
  test(`a response that is ${what}: InvalidResponse`, async (context) => {
    const peer = await startRawPeer(context, (socket) => {
      socket.once('data', () => socket.write(bytes));
    });
    assert.equal((await failureOf(send(newTransport(context), peer.destination))).code, 'InvalidResponse');
  });
}

for (const [how, response] of [
  ['short of its length', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfirst'],
  ['in the middle of its chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n'],
] as const) {
  test(`an HTTP/1.1 response that ends ${how} is not ended in good order`, async (context) => {
    const peer = await startRawPeer(context, (socket) => {
      socket.once('data', () => socket.end(response));
    });
    const router = await startRouter(context, { destination: peer.destination });
    const client = await rawClient(context, router.port);
    client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const text = await readToEnd(client);
    assert.match(text, /first/);
    assert.doesNotMatch(text, /\r\n0\r\n\r\n$/);
    await assert.rejects(askHttp2(http2Client(context, router.port)));
  });
}
