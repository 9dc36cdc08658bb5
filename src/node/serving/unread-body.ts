import type { IncomingMessage, ServerResponse } from 'node:http';

/** Bytes and milliseconds of an upload that are still taken after its answer has been given. */
const drainBytes = 64 * 1024 * 1024;
const drainMilliseconds = 5_000;

/**
 * An answer that does not wait for the end of the upload (401, 413, 503) must still reach a client that is
 * busy sending: closing with unread bytes would reset the connection under the answer. HTTP/2 has a code for
 * it; on HTTP/1.1 the rest is read and thrown away, up to a limit.
 */
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
