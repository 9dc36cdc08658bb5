import type { ServerHttp2Stream } from 'node:http2';

/**
 * Destroys the stream of an upload as soon as it is over on the wire. For RST_STREAM(NO_ERROR) Node does not: it keeps
 * the stream until its body has been read to the end, which a body that is paused for a slow destination never is, and
 * with it whatever waits for 'close' (the slot of the request, the request to the destination). Nor is there an event:
 * 'aborted' stays out once the answer has been ended, sent or not. What Node always does is to end the readable side
 * of a stream that it has marked as closed. Whoever that cuts short has no answer to wait for any more, or has had all
 * of it (RFC 9113 section 8.1: the rest of such an upload does not matter).
 */
export function destroyClosedUpload(stream: ServerHttp2Stream): void {
  const push = stream.push;
  stream.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    const hasRoom = push.call(stream, chunk, encoding);
    // A tick later, for Node is not done with it yet; no sooner does anybody else come to write an answer.
    if (chunk === null && stream.closed && !stream.destroyed) process.nextTick(destroy, stream);
    return hasRoom;
  };
}

function destroy(stream: ServerHttp2Stream): void {
  stream.destroy();
}
