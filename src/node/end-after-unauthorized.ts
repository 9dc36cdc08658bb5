import type { ServerHttp2Stream } from 'node:http2';

/**
 * Ends the connection of a client that has just been answered 401: it has to connect anew for more than a batch of
 * tries (kubernetes#121120). What is under way on it goes on.
 */
export function endConnectionAfter(stream: ServerHttp2Stream): void {
  // Afterwards the stream has forgotten it.
  const { session } = stream;
  stream.once('close', () => session?.close());
}
