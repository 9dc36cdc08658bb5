import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { httpsServer } from '../../../test/support/api-servers/https-server.ts';
import {
  dialled,
  type PeerOutgoing,
  type Protocol,
  startPeer,
  startRawPeer,
} from '../../../test/support/api-servers/node-exchange.ts';
import { createAuthority } from '../../../test/support/certificates.ts';
import { askHttp1, askHttp2, http2Client } from '../../../test/support/clients/node-clients.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { startRouter } from '../../../test/support/routers/node-router.ts';
import { newTransport, send } from '../../../test/support/routers/node-transport.ts';
import { allHeaders } from '../../apimachinery/raw-headers.ts';
import { cleanResponseHeaders } from '../../request/headers.ts';
import { inboundFromRequest } from '../../request/inbound.ts';
import { type OnResponseHead, ownResponse, responseOf } from '../../request/transport.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';
import { Exchange } from './exchange.ts';
import { NodeTransport } from './node-transport.ts';

test('responses without a length are whole, however short they are and however late they are read (h2)', async (context) => {
  const peer = await startPeer(context, 'h2', (incoming, outgoing) => {
    const pieces = Number(incoming.headers['x-pieces']);
    outgoing.writeHead(200);
    for (let piece = 0; piece < pieces; piece++) outgoing.write('x'.repeat(20_000));
    outgoing.end('end');
  });
  const transport = newTransport(context);
  const responses = Array.from({ length: 200 }, async (_, index) => {
    const pieces = index % 4;
    const response = await send(transport, peer.destination, undefined, {
      headers: ['x-pieces', String(pieces)],
    });
    // Some are read when the stream has long been closed.
    for (let turn = 0; turn < index % 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await response.text()).length, pieces * 20_000 + 3);
  });
  await Promise.all(responses);
});

for (const protocol of ['h2', 'http/1.1'] as const) {
  describe(`the connections to a destination are ended (${protocol})`, () => {
    /** A destination with one response under way. */
    const responding = async (context: Parameters<typeof startPeer>[0]) => {
      const responses: PeerOutgoing[] = [];
      const peer = await startPeer(context, protocol, (_incoming, outgoing) => {
        outgoing.writeHead(200);
        outgoing.write('first ');
        responses.push(outgoing);
      });
      const transport = newTransport(context);
      const response = await send(transport, peer.destination);
      return { peer, transport, response, responses };
    };

    test('at once: responses in flight break off and never pass for whole', async (context) => {
      const { peer, transport, response } = await responding(context);
      transport.endConnections(peer.destination, 'at-once');
      await assert.rejects(response.text());
      await eventually(() => peer.openConnections() === 0);
    });

    test('when idle: requests in flight end first', async (context) => {
      const { peer, transport, response, responses } = await responding(context);
      transport.endConnections(peer.destination, 'when-idle');
      responses[0]?.end('last');
      assert.equal(await response.text(), 'first last');
      await eventually(() => peer.openConnections() === 0);
    });

    test('and the next request finds a new one', async (context) => {
      for (const how of ['at-once', 'when-idle'] as const) {
        const { peer, transport, responses } = await responding(context);
        transport.endConnections(peer.destination, how);
        const next = await send(transport, peer.destination);
        responses[1]?.end('last');
        assert.equal(await next.text(), 'first last');
        assert.equal(peer.connections(), 2 * dialled[protocol]);
      }
    });

    test('those to other destinations stay', async (context) => {
      const { transport, response, responses } = await responding(context);
      const other = await startPeer(context, protocol, (_incoming, outgoing) => outgoing.end());
      transport.endConnections(other.destination, 'at-once');
      responses[0]?.end('last');
      assert.equal(await response.text(), 'first last');
    });
  });
}

describe('a response without content, from a destination that frames it otherwise', () => {
  for (const [what, status, bytes] of [
    ['a 204 with a length', 204, 'HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n'],
    ['a 205 with a body', 205, 'HTTP/1.1 205 Reset Content\r\nContent-Length: 5\r\n\r\nhello'],
    [
      'a 205 with a chunked body',
      205,
      'HTTP/1.1 205 Reset Content\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
    ],
  ] as const) {
    test(`${what} reaches every client whole, and without it`, async (context) => {
      const peer = await startRawPeer(context, (socket) => {
        socket.on('data', () => socket.write(bytes));
      });
      const router = await startRouter(context, { destination: peer.destination });
      const session = http2Client(context, router.port);
      for (const reached of [await askHttp1(router.port), await askHttp2(session)]) {
        assert.equal(reached.status, status);
        assert.equal(reached.body.length, 0);
        assert.deepEqual(allHeaders(reached.headers, 'content-length'), []);
      }
      const response = await send(newTransport(context), peer.destination);
      assert.equal(response.status, status);
      assert.equal(response.body, null);
      assert.equal(router.failures.length, 0);
    });
  }

  test('a 205 whose body is large holds nothing up', async (context) => {
    const ended = Promise.withResolvers<void>();
    const peer = await startPeer(context, 'http/1.1', (_incoming, outgoing) => {
      outgoing.writeHead(205, { 'content-length': String(8 * 1024 * 1024) });
      outgoing.once('finish', ended.resolve);
      outgoing.end(Buffer.alloc(8 * 1024 * 1024));
    });
    assert.equal((await send(newTransport(context), peer.destination)).status, 205);
    await ended.promise;
  });
});

for (const [what, phrase] of [
  ['Latin-1', Buffer.from('Caf\u00e9', 'latin1')],
  ['UTF-8', Buffer.from('\u732b')],
] as const) {
  test(`a reason phrase in ${what} does not keep the response from an HTTP/1.1 client`, async (context) => {
    const peer = await startRawPeer(context, (socket) => {
      socket.on('data', () => {
        socket.write('HTTP/1.1 200 ');
        socket.write(phrase);
        socket.write('\r\nContent-Length: 5\r\n\r\nhello');
      });
    });
    const router = await startRouter(context, { destination: peer.destination });
    const response = await askHttp1(router.port);
    assert.equal(response.status, 200);
    // The phrase is replaced by the standard one.
    assert.equal(response.statusMessage, 'OK');
    assert.equal(response.body.toString(), 'hello');
    assert.equal(await (await send(newTransport(context), peer.destination)).text(), 'hello');
  });
}

for (const protocol of ['h2', 'http/1.1'] as const) {
  describe(`responses that break off are reported (${protocol})`, () => {
    test('when the destination ends in the middle of one', async (context) => {
      const { peer, told, ask } = await beginning(context, protocol);
      const response = await ask();
      await peer.stop();
      await assert.rejects(response.text());
      assert.deepEqual(told, [peer.destination.origin]);
    });

    test('not for a response that is complete', async (context) => {
      const { told, responses, ask } = await beginning(context, protocol);
      const response = await ask();
      responses[0]?.end('last');
      assert.equal(await response.text(), 'first last');
      assert.deepEqual(told, []);
    });

    test('not when it ends before one has begun: the request itself tells of that', async (context) => {
      const { told, ask } = await beginning(context, protocol, (outgoing) => outgoing.destroy());
      await assert.rejects(ask());
      assert.deepEqual(told, []);
    });

    test('not when it is the client that goes', async (context) => {
      const { peer, told, ask } = await beginning(context, protocol);
      const client = new AbortController();
      const response = await ask(client.signal);
      client.abort();
      await assert.rejects(response.text());
      if (protocol === 'http/1.1') await eventually(() => peer.openConnections() === 0);
      assert.deepEqual(told, []);
    });
  });
}

/** A destination that begins its responses, if `response` does not say otherwise. */
async function beginning(
  context: TestContext,
  protocol: Protocol,
  response: (outgoing: PeerOutgoing) => void = (outgoing) => {
    outgoing.writeHead(200);
    outgoing.write('first ');
  },
) {
  const responses: PeerOutgoing[] = [];
  const peer = await startPeer(context, protocol, (_incoming, outgoing) => {
    responses.push(outgoing);
    response(outgoing);
  });
  const told: string[] = [];
  const transport = newTransport(context, { onBrokenOff: (origin) => told.push(origin) });
  const ask = (signal = new AbortController().signal): Promise<Response> =>
    send(transport, peer.destination, inboundFromRequest(new Request('https://router/', { signal })));
  return { peer, told, responses, ask };
}

const protocols: readonly Protocol[] = ['h2', 'http/1.1'];
const replace: OnResponseHead = () => ({
  kind: 'replace',
  outcome: ownResponse(new Response('instead', { status: 503 })),
});

for (const protocol of protocols) {
  describe(`a response in whose place another is given, from a destination on ${protocol}`, () => {
    test('a short one costs no connection', async (context) => {
      const peer = await startPeer(context, protocol, (_incoming, outgoing) => {
        outgoing.writeHead(404, { 'content-length': '9' });
        outgoing.end('not found');
      });
      const router = await startRouter(context, { destination: peer.destination, onResponseHead: replace });
      const session = http2Client(context, router.port);
      for (const response of [
        await askHttp1(router.port),
        await askHttp2(session),
        await askHttp2(session),
      ]) {
        assert.equal(response.body.toString(), 'instead');
      }
      assert.equal(peer.connections(), dialled[protocol]);
    });

    for (const [what, method] of [
      ['a long one', 'GET'],
      ['one that comes before the end of its upload', 'POST'],
    ] as const) {
      test(`${what} is not waited for`, async (context) => {
        const answered = Promise.withResolvers<PeerOutgoing>();
        const peer = await startPeer(context, protocol, (incoming, outgoing) => {
          incoming.on('error', () => {}).resume();
          outgoing.on('error', () => {});
          outgoing.writeHead(404, { 'content-length': method === 'GET' ? '65537' : '9' });
          outgoing.write('not');
          answered.resolve(outgoing);
        });
        const router = await startRouter(context, { destination: peer.destination, onResponseHead: replace });
        const session = http2Client(context, router.port);
        const stream = session.request({ ':method': method }, { endStream: method === 'GET' });
        stream.on('error', () => {});
        if (method === 'POST') stream.write('a part');
        const outgoing = await answered.promise;
        await once(outgoing, 'close');
      });
    }
  });
}

for (const protocol of protocols) {
  describe(`a response that is judged by its content, from a destination on ${protocol}`, () => {
    /** Judges each by the pieces that the destination sends. */
    async function judging(context: TestContext, pieces: readonly string[]) {
      const length = String(pieces.join('').length);
      const peer = await startPeer(context, protocol, async (_incoming, outgoing) => {
        outgoing.writeHead(404, { 'content-length': length });
        for (const piece of pieces) {
          outgoing.write(piece);
          await new Promise((resolve) => setImmediate(resolve));
        }
        outgoing.end();
      });
      const judged: string[] = [];
      const router = await startRouter(context, {
        destination: peer.destination,
        onResponseHead: ({ headers }) => ({
          kind: 'read',
          length: Number(length),
          judge(content) {
            const text = Buffer.from(content).toString();
            judged.push(text);
            if (text === 'not found') {
              return { kind: 'replace', outcome: ownResponse(new Response('instead', { status: 503 })) };
            }
            return { kind: 'forward', headers: cleanResponseHeaders(headers) };
          },
        }),
      });
      return { peer, router, judged };
    }

    for (const [what, pieces, expected] of [
      ['is passed on with all of it', ['no', ' such', ' thing'], [404, 'no such thing']],
      ['is replaced', ['not', ' found'], [503, 'instead']],
    ] as const) {
      test(`${what}, once it is there`, async (context) => {
        const { peer, router, judged } = await judging(context, pieces);
        const session = http2Client(context, router.port);
        for (const response of [
          await askHttp1(router.port),
          await askHttp2(session),
          await askHttp2(session),
        ]) {
          assert.deepEqual([response.status, response.body.toString()], expected);
        }
        assert.deepEqual(new Set(judged), new Set([pieces.join('')]));
        assert.equal(peer.connections(), dialled[protocol], 'no connection is lost');
      });
    }
  });
}

test('content that does not come, or ends too soon, is no response: nothing of it reaches the client', async () => {
  const calls: string[] = [];
  const sink: ResponseSink = {
    attach: () => {},
    release: () => {},
    respond: () => calls.push('respond'),
    write: () => calls.push('write') > 0,
    end: () => calls.push('end'),
    breakOff: () => calls.push('break off'),
  };
  const reading = (): Exchange => {
    const exchange = new Exchange({ origin: 'https://peer', sink }, ({ headers }) => ({
      kind: 'read',
      length: 9,
      judge: () => ({ kind: 'forward', headers }),
    }));
    exchange.begun({ pause: () => {}, resume: () => {}, abort: () => calls.push('abort') });
    exchange.head(404, ['Content-Length', '9']);
    exchange.data(new Uint8Array(3));
    return exchange;
  };
  const brokenOff = reading();
  brokenOff.fail(new Error('closed'));
  await assert.rejects(brokenOff.result, { code: 'ConnectionClosed', mayHaveBeenProcessed: true });
  const expired = reading();
  expired.expire();
  await assert.rejects(expired.result, { code: 'Timeout' });
  expired.end();
  const left = reading();
  left.onGone();
  await assert.rejects(left.result, { code: 'ClientGone' });
  assert.deepEqual(calls, ['abort', 'abort']);
  // Longer than announced: passed on, not held.
  const longer = reading();
  longer.data(new Uint8Array(7));
  longer.data(new Uint8Array(5));
  longer.end();
  assert.deepEqual(calls.slice(2), ['respond', 'write', 'write', 'end']);
});

test('what a client was given counts: a head that could not be written is a 502, not what the destination said', async () => {
  const told: number[] = [];
  const record = { responded: (status: number) => told.push(status), responseBytes: undefined };
  const sinkThat = (respond: () => void): ResponseSink => ({
    attach: () => {},
    release: () => {},
    respond,
    write: () => true,
    end: () => {},
    breakOff: () => {},
  });
  const exchangeWith = (respond: () => void): Exchange => {
    const exchange = new Exchange({ origin: 'https://peer', sink: sinkThat(respond) }, ({ headers }) => ({
      kind: 'forward',
      headers,
      record,
    }));
    exchange.head(200, []);
    return exchange;
  };
  const refused = exchangeWith(() => {
    throw new TypeError('Invalid character in header content');
  });
  await assert.rejects(refused.result, { code: 'InvalidResponse' });
  assert.deepEqual(told, []);
  await exchangeWith(() => {}).result;
  assert.deepEqual(told, [200]);
});

test('a short response that is not wanted and does not come is given up after five seconds', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let aborted = 0;
  const sink: ResponseSink = {
    attach: () => {},
    release: () => {},
    respond: () => assert.fail('the response was passed on'),
    write: () => assert.fail('the body was passed on'),
    end: () => assert.fail('the end was passed on'),
    breakOff: () => assert.fail('the break was passed on'),
  };
  const discarding = (): Exchange => {
    const exchange = new Exchange({ origin: 'https://peer', sink }, replace);
    exchange.begun({ pause: () => {}, resume: () => {}, abort: () => aborted++ });
    exchange.head(404, ['Content-Length', '9']);
    exchange.data(new Uint8Array(3));
    return exchange;
  };
  discarding();
  discarding().end();
  discarding().fail(new Error('closed'));
  context.mock.timers.tick(4_999);
  assert.equal(aborted, 0);
  context.mock.timers.tick(1);
  assert.equal(aborted, 1);
});

test('a peer that stalls in the middle of a response keeps its reader waiting, not busy', async (context) => {
  const authority = await createAuthority('cluster');
  const serving = await authority.issue({ dnsNames: ['kubernetes.default.svc'], usage: 'server' });
  const resumed = Promise.withResolvers<void>();
  const { port } = await httpsServer(
    context,
    { cert: serving.certificate, key: serving.privateKey },
    async (_request, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('first');
      await resumed.promise;
      response.end('other');
    },
  );
  const transport = new NodeTransport({
    credentials: { peerCertificateAuthorities: authority.certificate, frontProxy: undefined },
  });
  context.after(() => transport.close());
  const result = await transport.send(
    {
      destination: {
        kind: 'peer',
        id: 'peer',
        origin: `https://127.0.0.1:${port}`,
        serverName: 'kubernetes.default.svc',
        trust: { kind: 'peer-ca' },
      },
      method: 'GET',
      target: '/openapi/v2',
      headers: [],
      presentFrontProxyCertificate: false,
      longRunning: false,
    },
    {
      method: 'GET',
      target: '/openapi/v2',
      headers: [],
      connection: {},
      body: () => null,
      signal: new AbortController().signal,
    },
    ({ headers }) => ({ kind: 'forward', headers }),
  );
  const reader = responseOf(result).body?.getReader();
  const chunks: string[] = [];
  const next = async () => {
    const result = await reader?.read();
    if (result?.value !== undefined) chunks.push(new TextDecoder().decode(result.value));
    return result?.done === true;
  };
  await next();
  const rest = next();
  // The reader waits by now: what it is given before the peer goes on is nothing the peer has sent.
  await new Promise((resolve) => setImmediate(resolve));
  resumed.resolve();
  await rest;
  while (!(await next()));
  assert.deepEqual(chunks, ['first', 'other']);
});
