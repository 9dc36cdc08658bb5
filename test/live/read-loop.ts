import { setTimeout as sleep } from 'node:timers/promises';
import { type TlsCredentials, tlsRequest } from './tls-request.ts';

/** Milliseconds between two reads. */
const pause = 20;

/** How reads ended. */
export interface ReadCounts {
  ok: number;
  /** 404, of an object that is there: what makes controllers delete things. */
  notFound: number;
  /** Any other code: 429, 500, 503, … */
  refused: number;
  /** No answer: connection refused, reset, timed out. */
  broken: number;
}

export interface ReadLoop {
  readonly counts: Readonly<ReadCounts>;
  /** What was neither `ok` nor `notFound`: how often, by code or error. */
  readonly others: ReadonlyMap<string, number>;
  stop(): Promise<void>;
}

/** Reads these in turn until it is stopped, each on a connection of its own, as a row of short-lived clients would. */
export function startReadLoop(
  origin: string,
  paths: () => readonly string[],
  credentials: TlsCredentials,
): ReadLoop {
  const counts: ReadCounts = { ok: 0, notFound: 0, refused: 0, broken: 0 };
  const others = new Map<string, number>();
  const note = (what: string) => others.set(what, (others.get(what) ?? 0) + 1);
  let isStopped = false;
  const running = (async () => {
    while (!isStopped) {
      for (const path of paths()) {
        try {
          const { statusCode } = await tlsRequest(`${origin}${path}`, credentials);
          if (statusCode === 200) counts.ok++;
          else if (statusCode === 404) counts.notFound++;
          else {
            counts.refused++;
            note(`${statusCode}`);
          }
        } catch (error) {
          counts.broken++;
          note(error instanceof Error && 'code' in error ? String(error.code) : String(error));
        }
        await sleep(pause);
      }
    }
  })();
  return {
    counts,
    others,
    stop() {
      isStopped = true;
      return running;
    },
  };
}

/** One line: `ok 120, 404 3, refused 1 (503 ×1), broken 0`. */
export function describeReads({ counts, others }: ReadLoop): string {
  const details = [...others].map(([what, times]) => `${what} ×${times}`).join(', ');
  return (
    `ok ${counts.ok}, 404 ${counts.notFound}, refused ${counts.refused}, broken ${counts.broken}` +
    (details === '' ? '' : ` (${details})`)
  );
}
