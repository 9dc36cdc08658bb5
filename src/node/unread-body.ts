import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type ServerHttp2Stream } from 'node:http2';

/** Bytes and milliseconds of an upload that are still taken after its answer has been given. */
const drainBytes = 64 * 1024 * 1024;
const drainMilliseconds = 5_000;

/*
 * An answer that does not wait for the end of the upload (401, 413, 503) must still reach a client that is
 * busy sending: closing with unread bytes would reset the connection under the answer. HTTP/2 has a code for
 * it; on HTTP/1.1 the rest is read and thrown away, up to a limit.
 */

/** RFC 9113 section 8.1: the answer is complete, please stop sending. */
export function releaseUnreadHttp2Body(stream: ServerHttp2Stream): void {
  stream.once('finish', () => {
    whenEndIsSent(stream, () => {
      if (stream.readableEnded) return;
      stream.close(constants.NGHTTP2_NO_ERROR);
      // Whoever gave the body up has left it paused: the stream is not over before it has been read to its end.
      stream.resume();
    });
  });
}

export function releaseUnreadHttp1Body(incoming: IncomingMessage, outgoing: ServerResponse): void {
  // Taken now: a body that somebody has begun to read and given up has no socket any more by then.
  const { socket } = incoming;
  outgoing.once('finish', () => {
    if (incoming.complete) return;
    let left = drainBytes;
    const timer = setTimeout(() => socket.destroy(), drainMilliseconds);
    incoming.on('data', (chunk: Buffer) => {
      left -= chunk.length;
      if (left < 0) socket.destroy();
    });
    for (const over of [incoming, socket]) over.once('close', () => clearTimeout(timer));
    incoming.resume();
  });
}

/** Milliseconds between two looks, where the connection is busy. */
const lookInterval = 10;

/**
 * Calls back once END_STREAM is on its way, or never will be. 'finish' only says that Node has handed everything
 * over: a reset right behind it makes nghttp2 drop the END_STREAM that it still holds, and to the client the answer
 * has broken off.
 */
function whenEndIsSent(stream: ServerHttp2Stream, then: () => void): void {
  const look = (): void => {
    if (stream.closed || stream.destroyed || stream.state.localClose === 1) then();
    else setTimeout(look, lookInterval);
  };
  setImmediate(look);
}
