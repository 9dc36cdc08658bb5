import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { askHttp1, askHttp2, http2Client } from '../../../test/support/node-clients.ts';
import { type PeerOutgoing, type Protocol, startPeer } from '../../../test/support/node-exchange.ts';
import { startRouter } from '../../../test/support/node-router.ts';
import { type OnResponseHead, ownResponse } from '../../request/transport.ts';
import type { ResponseSink } from '../exchange/response-sink.ts';
import { Exchange } from './exchange.ts';

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
      assert.equal(peer.connections(), 1);
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

test('a short response that is not wanted and does not come is given up after five seconds', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let aborted = 0;
  const sink: ResponseSink = {
    attach: () => {},
    release: () => {},
    start: () => assert.fail('the response was passed on'),
    write: () => assert.fail('the body was passed on'),
    end: () => assert.fail('the end was passed on'),
    breakOff: () => assert.fail('the break was passed on'),
  };
  const discarding = (): Exchange => {
    const exchange = new Exchange({
      origin: 'https://peer',
      sink,
      onResponseHead: replace,
      headTimeout: 0,
    });
    exchange.onRequestStart({ pause: () => {}, resume: () => {}, abort: () => aborted++ });
    exchange.onResponseLines(404, ['Content-Length', '9']);
    exchange.onResponsePiece(new Uint8Array(3));
    return exchange;
  };
  discarding();
  discarding().onResponseEnd();
  discarding().onResponseError(undefined, new Error('closed'));
  context.mock.timers.tick(4_999);
  assert.equal(aborted, 0);
  context.mock.timers.tick(1);
  assert.equal(aborted, 1);
});
