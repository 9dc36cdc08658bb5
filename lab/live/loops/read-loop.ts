import { setTimeout as sleep } from 'node:timers/promises';
import { type TlsCredentials, tlsRequest } from '../../../test/support/clients/tls-request.ts';
import { type Loop, startLoop, Tally } from './loop.ts';

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

export interface ReadLoop extends Loop {
  readonly counts: Readonly<ReadCounts>;
  /** Reads that were not `ok`: how often, by code and path, or by error. */
  readonly failures: Tally;
  /** Resolves once everything that was being read has been, and what is asked for now is. */
  nextTurn(): Promise<void>;
}

/** Reads these in turn until it is stopped, each on a connection of its own, as a row of short-lived clients would. */
export function startReadLoop(
  origin: string,
  paths: () => readonly string[],
  credentials: TlsCredentials,
): ReadLoop {
  const counts: ReadCounts = { ok: 0, notFound: 0, forbidden: 0, refused: 0, broken: 0 };
  const failures = new Tally();
  let turns = 0;
  async function read(path: string): Promise<void> {
    try {
      const { statusCode } = await tlsRequest(`${origin}${path}`, credentials);
      if (statusCode === 200) counts.ok++;
      else {
        counts[statusCode === 404 ? 'notFound' : statusCode === 403 ? 'forbidden' : 'refused']++;
        failures.note(`${statusCode} ${path}`);
      }
    } catch (error) {
      counts.broken++;
      failures.noteBroken(error, 'GET');
    }
  }
  const loop = startLoop(0, async () => {
    const inTurn = paths();
    // Begun elsewhere each time: in step with a load balancer's own turn, a path would meet one server only.
    const start = turns % Math.max(inTurn.length, 1);
    for (const path of [...inTurn.slice(start), ...inTurn.slice(0, start)]) {
      await read(path);
      await sleep(pause);
    }
    turns++;
  });
  return {
    ...loop,
    counts,
    failures,
    async nextTurn() {
      for (const from = turns; turns < from + 2; ) await sleep(pause);
    },
  };
}

/** One line: `ok 120, 404 0, 403 0, refused 1, broken 0 (503 /api/v1/namespaces ×1)`. */
export function describeReads({ counts, failures }: ReadLoop): string {
  const { ok, notFound, forbidden, refused, broken } = counts;
  return `ok ${ok}, 404 ${notFound}, 403 ${forbidden}, refused ${refused}, broken ${broken}${failures.describe()}`;
}
