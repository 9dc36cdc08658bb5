import type { Destination } from '../request/destination.ts';
import type { ServerBook } from './server-book.ts';

/** Counts of the clients' requests that one server was sent. */
export interface Answers {
  /** Short requests in flight. A client that takes its response slowly has the server asked a question, no more. */
  readonly awaiting: number;
  /** Heads of responses so far, to any request. */
  readonly responses: number;
}

/** For how many looks in a row a server has responded to nothing, though it had something to respond to. */
export interface Quiet {
  readonly responses: number;
  readonly looks: number;
}

/**
 * Counted in looks, not in milliseconds: while this process stands still, nothing of what a server sends can arrive. Requests that
 * clients have given up since had no response either, so a look that finds none waiting ends no row.
 */
export function nextQuiet(before: Quiet | undefined, { awaiting, responses }: Answers): Quiet {
  if (before?.responses !== responses) return { responses, looks: 0 };
  return awaiting === 0 ? before : { responses, looks: before.looks + 1 };
}

/** Looks, four in a second, after which a server is asked something that is no work, and others with it. */
export const doubtedAfter = 6;
/** Looks, from when another server has responded, after which one that still has not counts as unreachable. */
export const waitedFor = 6;

interface SilenceWatchOptions {
  readonly health: Pick<ServerBook, 'silent' | 'isDown'>;
  readonly answersOf: (id: string) => Answers;
  /** Asks one server something that is no work. Never rejects; false: no response came. */
  readonly responds: (destination: Destination, signal: AbortSignal) => Promise<boolean>;
}

/**
 * Finds servers that hang: a process that was stopped, a machine that stands still. Their connections stay open and take
 * requests, and three probes in a row take fifteen seconds to fail, where a client that renews a Lease gives up after ten
 * (k8s.io/client-go tools/leaderelection, RenewDeadline).
 *
 * A slow request proves nothing: a webhook or etcd may be slow. So a server is asked what takes neither before it counts as
 * unreachable. Nor does silence where all are silent, for then it is this router that nobody reaches: of servers that it knows
 * nothing of, the one that was left would get all requests.
 */
export class SilenceWatch {
  readonly #options: SilenceWatchOptions;
  readonly #quiet = new Map<string, Quiet>();
  readonly #asking = new Map<string, AbortController>();
  /** By server in doubt: the look at which another one had responded. */
  readonly #witnessed = new Map<string, number>();

  constructor(options: SilenceWatchOptions) {
    this.#options = options;
  }

  look(destinations: ReadonlyMap<string, Destination>): void {
    const { health, answersOf } = this.#options;
    for (const id of this.#quiet.keys()) if (!destinations.has(id)) this.#forget(id);
    for (const [id, destination] of destinations) {
      const quiet = nextQuiet(this.#quiet.get(id), answersOf(id));
      this.#quiet.set(id, quiet);
      // The server's probes say when the server is back.
      if (quiet.looks === 0 || health.isDown(id)) this.#forget(id, quiet.responses);
      else if (quiet.looks - (this.#witnessed.get(id) ?? quiet.looks) >= waitedFor) {
        health.silent(id);
        this.#forget(id, quiet.responses);
      } else if (quiet.looks >= doubtedAfter && !this.#asking.has(id)) {
        void this.#ask(destination);
        for (const other of destinations.values()) if (other.id !== id) void this.#askWitness(other, id);
      }
    }
  }

  stop(): void {
    for (const id of [...this.#quiet.keys()]) this.#forget(id);
  }

  async #ask(destination: Destination): Promise<void> {
    const { id } = destination;
    const asking = new AbortController();
    this.#asking.set(id, asking);
    const isThere = await this.#options.responds(destination, asking.signal);
    if (asking.signal.aborted) return;
    this.#asking.delete(id);
    // One of two questions may still wait.
    asking.abort();
    const quiet = this.#quiet.get(id);
    if (!isThere || quiet === undefined) return;
    this.#witnessed.delete(id);
    this.#quiet.set(id, { ...quiet, looks: 0 });
  }

  async #askWitness(other: Destination, inDoubt: string): Promise<void> {
    const signal = this.#asking.get(inDoubt)?.signal;
    if (signal === undefined || this.#witnessed.has(inDoubt)) return;
    const isThere = await this.#options.responds(other, signal);
    const looks = this.#quiet.get(inDoubt)?.looks;
    if (!isThere || signal.aborted || looks === undefined || this.#witnessed.has(inDoubt)) return;
    this.#witnessed.set(inDoubt, looks);
  }

  /** @param responses left out: of a server that is not followed any more */
  #forget(id: string, responses?: number): void {
    this.#asking.get(id)?.abort();
    this.#asking.delete(id);
    this.#witnessed.delete(id);
    if (responses === undefined) this.#quiet.delete(id);
    else this.#quiet.set(id, { responses, looks: 0 });
  }
}
