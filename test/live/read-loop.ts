import { setTimeout as sleep } from 'node:timers/promises';
import { type TlsCredentials, tlsRequest } from './tls-request.ts';

/** Milliseconds between two reads. */
const pause = 20;

/** How reads ended. */
export interface ReadCounts {
  ok: number;
  /** 404, of an object that is there: what makes controllers delete things. */
  notFound: number;
  /** 403 of a user who may read this: of a server that was asked before it knew its roles. */
  forbidden: number;
  /** Any other code: 429, 500, 503, … */
  refused: number;
  /** No answer: connection refused, reset, timed out. */
  broken: number;
}

export interface ReadLoop {
  readonly counts: Readonly<ReadCounts>;
  /** What was not `ok`: how often, by code and path, or by error. */
  readonly failures: ReadonlyMap<string, number>;
  /** Resolves once everything that was being read has been, and what is asked for now is. */
  nextTurn(): Promise<void>;
  stop(): Promise<void>;
}

/** Reads these in turn until it is stopped, each on a connection of its own, as a row of short-lived clients would. */
export function startReadLoop(
  origin: string,
  paths: () => readonly string[],
  credentials: TlsCredentials,
): ReadLoop {
  const counts: ReadCounts = { ok: 0, notFound: 0, forbidden: 0, refused: 0, broken: 0 };
  const failures = new Map<string, number>();
  const note = (what: string) => failures.set(what, (failures.get(what) ?? 0) + 1);
  let isStopped = false;
  let turns = 0;
  const running = (async () => {
    while (!isStopped) {
      const inTurn = paths();
      // Begun elsewhere each time: in step with a load balancer's own turn, a path would meet one server only.
      const start = turns % Math.max(inTurn.length, 1);
      for (const path of [...inTurn.slice(start), ...inTurn.slice(0, start)]) {
        try {
          const { statusCode } = await tlsRequest(`${origin}${path}`, credentials);
          if (statusCode === 200) counts.ok++;
          else if (statusCode === 404) {
            counts.notFound++;
            note(`404 ${path}`);
          } else {
            if (statusCode === 403) counts.forbidden++;
            else counts.refused++;
            note(`${statusCode} ${path}`);
          }
        } catch (error) {
          counts.broken++;
          note(error instanceof Error && 'code' in error ? String(error.code) : String(error));
        }
        await sleep(pause);
      }
      turns++;
    }
  })();
  return {
    counts,
    failures,
    async nextTurn() {
      const from = turns;
      while (turns < from + 2 && !isStopped) await sleep(pause);
    },
    stop() {
      isStopped = true;
      return running;
    },
  };
}

/** One line: `ok 120, 404 0, 403 0, refused 1, broken 0 (503 /api/v1/namespaces ×1)`. */
export function describeReads({ counts, failures }: ReadLoop): string {
  const details = [...failures].map(([what, times]) => `${what} ×${times}`).join(', ');
  return (
    `ok ${counts.ok}, 404 ${counts.notFound}, 403 ${counts.forbidden}, refused ${counts.refused}, broken ${counts.broken}` +
    (details === '' ? '' : ` (${details})`)
  );
}
