import type { Duplex } from 'node:stream';
import type { OpenStream, OpenStreams } from '../exchange/open-streams.ts';
import { endWhenWritten } from '../exchange/raw-answer.ts';

/** Milliseconds that one side has for reading what is on its way to it when the other side has gone. */
const lastBytesMilliseconds = 10_000;

/**
 * Carries bytes both ways until either side ends, with backpressure, however long it is quiet. The end of one
 * side ends the other once what is on its way has been written; an error ends both at once.
 * @param openStreams where a shutdown finds it, until both ends are closed.
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

/** A tunnel as what a shutdown ends. What is in it only its two ends know: there is no good moment but their own. */
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
    // One that never reads would keep its connection for ever: nothing else looks after it any more.
    const timer = setTimeout(() => to.destroy(), lastBytesMilliseconds);
    to.once('close', () => clearTimeout(timer));
  });
  from.pipe(to);
}
