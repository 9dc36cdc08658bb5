import { setTimeout as sleep } from 'node:timers/promises';
import { type TlsCredentials, tlsRequest } from '../../../test/support/clients/tls-request.ts';
import { type Loop, startLoop, Tally } from '../loops/loop.ts';
import type { Way } from './ways.ts';

/** Milliseconds. */
const pause = 40;

export interface ServedCounts {
  requests: number;
  /** 404 for a collection that a server serves which has been ready, and has not gone for good. */
  wrongNotFound: number;
  /** Any other code but 200 and a right 404, and requests without an answer, by code and path. */
  readonly others: Tally;
}

export interface ServedLoop extends Loop {
  readonly counts: ServedCounts;
}

/** The resource that is read, and if a 404 for the resource is wrong at this moment. */
export interface ServedPaths {
  paths(): readonly string[];
  isServed(path: string): boolean;
}

/** Lists one collection after the other, each by another of the ways in. */
export function startServedLoop(
  { origins, agent }: Way,
  { paths, isServed }: ServedPaths,
  credentials: TlsCredentials,
  onFault: (what: string) => void,
): ServedLoop {
  const counts: ServedCounts = { requests: 0, wrongNotFound: 0, others: new Tally() };
  async function list(path: string): Promise<void> {
    const way = Math.floor(Math.random() * origins.length);
    const wasServed = isServed(path);
    counts.requests++;
    try {
      const url = `${origins[way]}${path}`;
      const { statusCode } = await tlsRequest(url, credentials, { timeout: 5_000, agent });
      if (statusCode === 404) {
        if (!wasServed || !isServed(path)) return;
        counts.wrongNotFound++;
        onFault(`404 through ${way}: ${path}`);
      } else if (statusCode !== 200) counts.others.note(`${statusCode} ${path}`);
    } catch (error) {
      counts.others.noteBroken(error, 'GET');
    }
  }
  const loop = startLoop(0, async () => {
    for (const path of paths()) {
      await list(path);
      await sleep(pause);
    }
  });
  return { ...loop, counts };
}
