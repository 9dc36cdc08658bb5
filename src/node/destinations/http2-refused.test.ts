import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import {
  dataFrame,
  headFrame,
  okFrames,
  type RawHttp2Peer,
  type RawHttp2Server,
  startRawHttp2Server,
} from '../../../test/support/api-servers/raw-http2-peer.ts';
import { frame, frameFlag, frameType, uint32 } from '../../../test/support/clients/raw-http2.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { failureOf, newTransport, send } from '../../../test/support/routers/node-transport.ts';
import type { Destination } from '../../request/destination.ts';
import { inboundFromRequest } from '../../request/inbound.ts';

/** `:status: 304` and `:status: 200` in the static table (RFC 7541 appendix A). */
const status304 = Buffer.from([0x8b]);
const status200 = Buffer.from([0x88]);

/** A destination that responds to each request with these frames, in one write. */
async function startInOneWrite(
  context: TestContext,
  response: (stream: number) => readonly Buffer[],
): Promise<Destination> {
  const { destination } = await startRawHttp2Server(context, {
    onFrame(peer, { type, stream }) {
      if (type === frameType.headers) peer.write(Buffer.concat(response(stream)));
    },
  });
  return destination;
}

// How kube-apiserver says 304 (Go's http2 server): a head without END_STREAM, then an empty DATA frame with it.
test('a response is whole when its END_STREAM comes in one segment with its head, on a frame without data', async (context) => {
  const destination = await startInOneWrite(context, (stream) => [
    frame(frameType.headers, frameFlag.endHeaders, stream, status304),
    frame(frameType.data, frameFlag.endStream, stream),
  ]);
  const transport = newTransport(context);
  for (let request = 0; request < 100; request++) {
    const response = await send(transport, destination);
    assert.equal(response.status, 304);
    assert.equal(await response.text(), '');
  }
});

test('a response is whole when all of it comes in one segment', async (context) => {
  const destination = await startInOneWrite(context, (stream) => [
    frame(frameType.headers, frameFlag.endHeaders, stream, status200),
    frame(frameType.data, frameFlag.none, stream, Buffer.from('who')),
    frame(frameType.data, frameFlag.endStream, stream, Buffer.from('le')),
  ]);
  const transport = newTransport(context);
  for (let request = 0; request < 100; request++) {
    assert.equal(await (await send(transport, destination)).text(), 'whole');
  }
});

test('attack: a response that a reset with NO_ERROR ends in one segment with its head does not pass for whole', async (context) => {
  const destination = await startInOneWrite(context, (stream) => [
    frame(frameType.headers, frameFlag.endHeaders, stream, status200),
    frame(frameType.data, frameFlag.none, stream, Buffer.from('half')),
    frame(frameType.rstStream, frameFlag.none, stream, Buffer.alloc(4)),
  ]);
  const transport = newTransport(context);
  for (let request = 0; request < 20; request++) {
    await assert.rejects(async () => (await send(transport, destination)).text());
  }
});

const { none, endStream } = frameFlag;
const refusedStream = 0x7;

const reset = (stream: number, code: number): Buffer =>
  frame(frameType.rstStream, none, stream, uint32(code));
const goAway = (lastStream: number, code: number): Buffer =>
  frame(frameType.goAway, none, 0, uint32(lastStream, code));

type RespondTo = (peer: RawHttp2Peer, stream: number, count: number) => void;

/** A destination that responds by how many requests there were before, on any connection. */
async function startResponding(
  context: TestContext,
  response: RespondTo,
): Promise<RawHttp2Server & { requests(): number }> {
  let requests = 0;
  const server = await startRawHttp2Server(context, {
    onFrame: (peer, { type, stream }) => {
      if (type === frameType.headers) response(peer, stream, requests++);
    },
  });
  return { ...server, requests: () => requests };
}

describe('a request that the destination did not process', () => {
  for (const [name, repeats, refuse] of [
    ['REFUSED_STREAM', 1, (stream: number) => reset(stream, refusedStream)],
    // A server that ends connections in good order, `--goaway-chance` of kube-apiserver, does so again.
    ['a GOAWAY that names an earlier one as the last', 6, () => goAway(0, 0)],
    // The request itself may be the reason, and each time other requests lose their connection.
    ['a GOAWAY with an error code that names an earlier one as the last', 1, () => goAway(0, 0xb)],
  ] as const) {
    test(`is sent again: ${name}`, async (context) => {
      const server = await startResponding(context, (peer, stream, count) => {
        peer.write(count === 0 ? refuse(stream) : okFrames(stream, 'second time'));
      });
      const response = await send(newTransport(context), server.destination);
      assert.equal(await response.text(), 'second time');
      assert.equal(server.requests(), 2);
    });

    test(`is sent again so often only: ${name}`, async (context) => {
      const server = await startResponding(context, (peer, stream) => peer.write(refuse(stream)));
      const failure = await failureOf(send(newTransport(context), server.destination));
      assert.equal(failure.mayHaveBeenProcessed, false);
      assert.equal(server.requests(), 1 + repeats);
    });
  }

  test('is not sent again when part of its body was streamed and not kept: it was not processed all the same', async (context) => {
    const server = await startRawHttp2Server(context, {
      onFrame: (peer, { type, stream }) => {
        if (type === frameType.data) peer.write(reset(stream, refusedStream));
      },
    });
    const request = new Request('https://router/', { method: 'POST', body: 'body' });
    const failure = await failureOf(
      send(newTransport(context), server.destination, inboundFromRequest(request)),
    );
    assert.equal(failure.mayHaveBeenProcessed, false);
    assert.equal(server.peers.flatMap((peer) => peer.of(frameType.headers)).length, 1);
  });
});

describe('a request that the destination may have processed is never sent again', () => {
  for (const [name, end] of [
    ['another reset', (peer, stream) => peer.write(reset(stream, 0x2))],
    ['CANCEL', (peer, stream) => peer.write(reset(stream, 0x8))],
    [
      'a GOAWAY that includes it, and the end of the connection',
      (peer, stream) => {
        peer.write(goAway(stream, 0xb));
        peer.socket.end();
      },
    ],
    ['the end of the connection', (peer) => peer.socket.destroy()],
    ['a response that is no HTTP/2', (peer, stream) => peer.write(dataFrame(stream, 'data'))],
  ] satisfies readonly (readonly [string, RespondTo])[]) {
    test(name, async (context) => {
      const server = await startResponding(context, end);
      const failure = await failureOf(send(newTransport(context), server.destination));
      assert.equal(failure.mayHaveBeenProcessed, true);
      assert.equal(server.requests(), 1);
    });
  }

  test('REFUSED_STREAM behind its head: its response breaks off', async (context) => {
    const server = await startResponding(context, (peer, stream) => {
      peer.write(headFrame(stream, [':status', '200']), dataFrame(stream, 'half'));
    });
    const response = await send(newTransport(context), server.destination);
    server.peers[0]?.write(reset(1, refusedStream));
    await assert.rejects(response.text());
    assert.equal(server.requests(), 1);
  });
});

test('what is open below the last stream of a GOAWAY ends in peace, while new requests take another connection', async (context) => {
  const server = await startResponding(context, (peer, stream, count) => {
    if (count === 0) peer.write(headFrame(stream, [':status', '200']), goAway(stream, 0));
    else peer.write(okFrames(stream, 'elsewhere'));
  });
  const transport = newTransport(context);
  const watch = await send(transport, server.destination);
  // The head came in front of the GOAWAY, and in one segment with it.
  await server.peers[0]?.settled();
  assert.equal(await (await send(transport, server.destination)).text(), 'elsewhere');
  assert.equal(server.peers.length, 2);
  server.peers[0]?.write(dataFrame(1, 'to the end', endStream));
  assert.equal(await watch.text(), 'to the end');
  await eventually(() => server.peers[0]?.socket.closed === true);
});
