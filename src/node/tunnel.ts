import type { Duplex } from 'node:stream';
import { endWhenWritten } from './raw-answer.ts';

/**
 * Carries bytes both ways until either side ends, with backpressure, however long it is quiet. The end of one
 * side ends the other once what is on its way has been written; an error ends both at once.
 */
export function tunnel(client: Duplex, destination: Duplex): void {
  connect(client, destination);
  connect(destination, client);
}

function connect(from: Duplex, to: Duplex): void {
  from.on('error', () => to.destroy());
  from.once('close', () => endWhenWritten(to));
  from.pipe(to);
}
