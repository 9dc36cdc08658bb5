import { setTimeout as sleep } from 'node:timers/promises';
import { type TlsCredentials, tlsRequest } from '../tls-request.ts';
import type { Way } from './ways.ts';

/** Milliseconds. */
const pause = 40;

export interface ServedCounts {
  requests: number;
  /** 404 for a collection that a server serves which has been ready, and has not gone for good. */
  wrongNotFound: number;
  /** Any other code but 200 and a right 404, and requests without an answer, by code and path. */
  readonly others: Map<string, number>;
}

export interface ServedLoop {
  readonly counts: ServedCounts;
  stop(): Promise<void>;
}

/** What is read, and whether a 404 for it is wrong at this moment. */
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
  const counts: ServedCounts = { requests: 0, wrongNotFound: 0, others: new Map() };
  let isStopped = false;
  const note = (code: string) => counts.others.set(code, (counts.others.get(code) ?? 0) + 1);
  const running = (async () => {
    while (!isStopped) {
      for (const path of paths()) {
        const way = Math.floor(Math.random() * origins.length);
        const wasServed = isServed(path);
        counts.requests++;
        try {
          const { statusCode } = await tlsRequest(`${origins[way]}${path}`, credentials, {
            timeout: 5_000,
            agent,
          });
          if (statusCode === 404) {
            if (wasServed && isServed(path)) {
              counts.wrongNotFound++;
              onFault(`404 through ${way}: ${path}`);
            }
          } else if (statusCode !== 200) note(`${statusCode} ${path}`);
        } catch (error) {
          note(error instanceof Error && 'code' in error ? `${String(error.code)} GET` : String(error));
        }
        await sleep(pause);
      }
    }
  })();
  return {
    counts,
    stop() {
      isStopped = true;
      return running;
    },
  };
}
