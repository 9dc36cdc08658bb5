import type { Duplex } from 'node:stream';
import type { OpenStream } from './open-streams.ts';
import { endWhenWritten } from './raw-answer.ts';

/**
 * Carries bytes both ways until either side ends, with backpressure, however long it is quiet. The end of one
 * side ends the other once what is on its way has been written; an error ends both at once.
 */
export function tunnel(client: Duplex, destination: Duplex): void {
  connect(client, destination);
  connect(destination, client);
}

/** A tunnel as what a shutdown ends. What is in it only its two ends know: there is no good moment but their own. */
export function openTunnelOf(client: Duplex, destination: Duplex): OpenStream {
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
  from.once('close', () => endWhenWritten(to));
  from.pipe(to);
}
