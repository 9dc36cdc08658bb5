import type { Duplex } from 'node:stream';
import type { OpenStream, OpenStreams } from '../exchange/open-streams.ts';
import { endWhenWritten } from '../exchange/raw-response.ts';

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
  const opened = openTunnelOf(client, destination);
  openStreams.opened(opened);
  const closed = (): void => {
    if (client.closed && destination.closed) openStreams.closed(opened);
  };
  client.once('close', closed);
  destination.once('close', closed);
}

/** For a shutdown. The router cannot see the protocol in a tunnel, so it cannot end it cleanly. */
function openTunnelOf(client: Duplex, destination: Duplex): OpenStream {
  return {
    endSoon() {},
    cut() {
      destination.destroy();
      endWhenWritten(client);
    },
  };
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
