import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { OpenStream, OpenStreams } from '../exchange/open-streams.ts';
import { endAfterResponse, responseHead } from '../exchange/raw-response.ts';

/** Time for one side to read the last bytes after the other side has closed. */
const lastBytesMilliseconds = 10_000;

/**
 * Relays bytes in both directions with back-pressure and without an idle time-out. When one side ends, the other is ended
 * after the last bytes were written; an error ends both at once.
 * @param openStreams has the tunnel for a shutdown, until both sides are closed
 */
export function tunnel(client: Duplex, destination: Duplex, openStreams?: OpenStreams): void {
  connect(client, destination);
  connect(destination, client);
  if (openStreams === undefined) return;
  const opened: OpenStream = {
    // The router cannot see the protocol in a tunnel, so it cannot end it cleanly.
    cut() {
      destination.destroy();
      endWhenWritten(client);
    },
  };
  openStreams.opened(opened);
  const closed = (): void => {
    if (client.closed && destination.closed) openStreams.closed(opened);
  };
  client.once('close', closed);
  destination.once('close', closed);
}

function connect(from: Duplex, to: Duplex): void {
  from.on('error', () => to.destroy());
  from.once('close', () => {
    if (to.destroyed) return;
    endWhenWritten(to);
    // A side that never reads would keep its connection for ever.
    const timer = setTimeout(() => to.destroy(), lastBytesMilliseconds);
    to.once('close', () => clearTimeout(timer));
  });
  from.pipe(to);
}

/** Ends a connection after everything was written. */
function endWhenWritten(socket: Duplex): void {
  if (socket instanceof Socket) socket.destroySoon();
  else socket.end();
}

/**
 * Relays the response of a destination that did not switch (an error, or a watch that was requested with `Upgrade`), and
 * ends both connections. What the client sends meanwhile is discarded: the destination would read it as requests of the
 * router (CVE-2018-1002105).
 *
 * When one side closes, the other is closed, too: an endless response would otherwise keep the destination's connection
 * and a file descriptor after its client has left.
 * @param headers header lines of the response, without those of its framing
 */
export async function relayDeclinedResponse(
  client: Duplex,
  response: IncomingMessage,
  headers: RawHeaders,
  openStreams: OpenStreams | undefined,
): Promise<void> {
  const opened: OpenStream = {
    cut() {
      response.destroy();
      client.destroy();
    },
  };
  openStreams?.opened(opened);
  client.once('close', () => {
    openStreams?.closed(opened);
    response.destroy();
  });
  // Read and discarded, so that the end of the connection is seen.
  client.resume();
  client.write(responseHead(response.statusCode ?? 0, response.statusMessage ?? '', headers));
  try {
    await pipeline(response, client, { end: false });
  } catch {
    // The body broke off: the client must not take a part for the whole.
    client.destroy();
    return;
  }
  endAfterResponse(client);
}
