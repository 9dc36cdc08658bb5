import type { Admission } from '../../identity/assertion/replay-window.ts';
import type { DurableObjectState, SqlStorage } from '../platform/bindings.ts';

/** By what became of the nonce. */
export const admissionStatus: Readonly<Record<Admission, number>> = { fresh: 204, replayed: 409, full: 429 };

/** Nonces of one issuer: more than an object can take in the time for which they are kept. */
const capacity = 262_144;
/**
 * Seconds that a nonce is kept beyond its deadline. Deadlines go by the clocks of isolates: one that is so slow
 * this object's must not find the nonce forgotten.
 */
const margin = 60;
/** Seconds between two clearings. */
const clearingInterval = 30;

/**
 * Remembers the nonces of the assertions of one issuer for all isolates of a Worker, whose requests to it are handled
 * one at a time. On disk, for the runtime ends objects as it likes. Reachable by its binding alone.
 *
 * `PUT /<nonce>?deadline=<Unix seconds>` takes a nonce: 204 when it is fresh, 409 when it has been taken before, 429
 * when there is no room to remember it.
 */
export class ReplayObject {
  readonly #sql: SqlStorage;
  #size = 0;
  /** Unix seconds. */
  #clearedAt = Number.NEGATIVE_INFINITY;

  constructor(state: DurableObjectState, _environment: object) {
    this.#sql = state.storage.sql;
    this.#sql.exec(
      'CREATE TABLE IF NOT EXISTS nonce (nonce TEXT PRIMARY KEY, deadline INTEGER NOT NULL) WITHOUT ROWID',
    );
  }

  async fetch(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const nonce = pathname.slice(1);
    const deadline = Number(searchParams.get('deadline'));
    if (request.method !== 'PUT' || nonce === '' || !Number.isSafeInteger(deadline) || deadline <= 0) {
      return new Response(null, { status: 400 });
    }
    return new Response(null, { status: admissionStatus[this.#take(nonce, deadline)] });
  }

  #take(nonce: string, deadline: number): Admission {
    this.#clear(Math.floor(Date.now() / 1000));
    if (this.#size >= capacity) return 'full';
    const inserted = this.#sql.exec(
      'INSERT INTO nonce (nonce, deadline) VALUES (?, ?) ON CONFLICT DO NOTHING RETURNING nonce',
      nonce,
      deadline,
    );
    for (const _row of inserted) {
      this.#size++;
      return 'fresh';
    }
    return 'replayed';
  }

  #clear(now: number): void {
    // A clock that was set back counts as time passed.
    if (now >= this.#clearedAt && now - this.#clearedAt < clearingInterval) return;
    this.#clearedAt = now;
    this.#sql.exec('DELETE FROM nonce WHERE deadline < ?', now - margin);
    for (const { size } of this.#sql.exec('SELECT COUNT(*) AS size FROM nonce')) this.#size = Number(size);
  }
}
