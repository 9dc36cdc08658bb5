import { request } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientOptions } from '../clients/api-client.ts';
import { configMaps } from '../clients/subjects.ts';
import type { SeededRandom } from '../seeded-random.ts';

type Access = Pick<ClientOptions, 'origin' | 'tls'>;

const watchPath = `${configMaps.collection}?watch=true&allowWatchBookmarks=true`;

/** Opens a watch on a connection of its own, drops it after some seconds without a word, and comes back. */
export async function reconnectingClient(
  { origin, tls }: Access,
  random: SeededRandom,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const outgoing = request(`${origin}${watchPath}`, { ...tls, agent: false });
    outgoing.on('error', () => undefined);
    outgoing.on('response', (response) => response.on('error', () => undefined).resume());
    outgoing.end();
    await sleep(random.between(1_000, 5_000), undefined, { signal }).catch(() => undefined);
    outgoing.destroy();
  }
}

/** Watches, and reads a little of what has come every few seconds only. */
export async function slowReader(
  { origin, tls }: Access,
  random: SeededRandom,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const outgoing = request(`${origin}${watchPath}`, { ...tls, agent: false, signal });
    outgoing.on('error', () => resolve());
    outgoing.on('response', (response) => {
      const reading = setInterval(() => response.read(256), random.between(1_000, 3_000));
      response
        .on('error', () => undefined)
        .on('close', () => {
          clearInterval(reading);
          resolve();
        });
    });
    outgoing.end();
    await promise;
    await sleep(1_000, undefined, { signal }).catch(() => undefined);
  }
}
