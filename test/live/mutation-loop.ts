import { setTimeout as sleep } from 'node:timers/promises';
import { manifestOf } from './exclusive-resources.ts';
import { type TlsCredentials, tlsRequest } from './tls-request.ts';
import type { WatchedCollection } from './watch-follower.ts';

const pause = 20;
/** Milliseconds until an attempt is given up and made again. */
const attemptTimeout = 5000;

export interface MutationCounts {
  /** Objects that were made, changed and removed. */
  rounds: number;
  /** 404 where the collection, or the object, is there. To a client it says: already deleted. */
  notFound: number;
  /** 403 of a user who may do this. */
  forbidden: number;
  /** Any other code: 429, 500, 503, … */
  refused: number;
  /** No answer: connection refused, reset, timed out. */
  broken: number;
}

export interface MutationLoop {
  readonly counts: Readonly<MutationCounts>;
  /** What went wrong: how often, by code and method, or by error. */
  readonly failures: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

/**
 * Makes, changes and removes one object after the other until it is stopped. What fails is tried again. After an
 * attempt whose end nobody knows (no answer, or a 5xx) the next may find its work done: then 409 of a POST and 404 of
 * a DELETE are right.
 * @param prefix of the objects' names
 */
export function startMutationLoop(
  origin: string,
  { path, object }: WatchedCollection,
  credentials: TlsCredentials,
  prefix: string,
): MutationLoop {
  const counts: MutationCounts = { rounds: 0, notFound: 0, forbidden: 0, refused: 0, broken: 0 };
  const failures = new Map<string, number>();
  const note = (what: string): void => void failures.set(what, (failures.get(what) ?? 0) + 1);
  let isStopped = false;

  async function until(
    expected: number,
    alsoWhenRepeated: number,
    method: string,
    url: string,
    headers: Readonly<Record<string, string>>,
    body?: string,
  ): Promise<boolean> {
    for (let mayBeDone = false; !isStopped; ) {
      try {
        const { statusCode, text } = await tlsRequest(url, credentials, {
          method,
          headers,
          timeout: attemptTimeout,
          ...(body === undefined ? {} : { body }),
        });
        if (statusCode === expected || (mayBeDone && statusCode === alsoWhenRepeated)) return true;
        if (statusCode === 404) counts.notFound++;
        else if (statusCode === 403) counts.forbidden++;
        else counts.refused++;
        if (statusCode >= 500) mayBeDone = true;
        note(`${statusCode} ${method} ${text.slice(0, 160)}`);
      } catch (error) {
        counts.broken++;
        mayBeDone = true;
        note(error instanceof Error && 'code' in error ? `${String(error.code)} ${method}` : String(error));
      }
      await sleep(pause);
    }
    return false;
  }

  const running = (async () => {
    const json = { 'content-type': 'application/json' };
    const merge = { 'content-type': 'application/merge-patch+json' };
    const label = JSON.stringify({ metadata: { labels: { changed: 'true' } } });
    for (let number = 0; !isStopped; number++) {
      const name = `${prefix}-${number}`;
      const collection = `${origin}${path}`;
      const isDone =
        (await until(201, 409, 'POST', collection, json, manifestOf(object, name))) &&
        (await until(200, 200, 'PATCH', `${collection}/${name}`, merge, label)) &&
        (await until(200, 404, 'DELETE', `${collection}/${name}`, {}));
      if (isDone) counts.rounds++;
      await sleep(pause);
    }
  })();
  return {
    counts,
    failures,
    stop() {
      isStopped = true;
      return running;
    },
  };
}

/** One line: `rounds 120, 404 0, 403 0, refused 1, broken 0 (503 POST … ×1)`. */
export function describeMutations({ counts, failures }: MutationLoop): string {
  const details = [...failures].map(([what, times]) => `${what} ×${times}`).join(', ');
  return (
    `rounds ${counts.rounds}, 404 ${counts.notFound}, 403 ${counts.forbidden}, ` +
    `refused ${counts.refused}, broken ${counts.broken}${details === '' ? '' : ` (${details})`}`
  );
}
