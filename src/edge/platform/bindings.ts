/**
 * The shapes of a Workers-compatible runtime that are used here, and no more of them: Cloudflare's own types would
 * bring a second set of web globals, and tests stand plain objects in their place.
 */

export interface Fetcher {
  fetch(request: Request | string, init?: RequestInit): Promise<Response>;
}

/** A Durable Object namespace (developers.cloudflare.com/durable-objects/api/namespace). */
export interface DurableObjectNamespace {
  idFromName(name: string): object;
  get(id: object): Fetcher;
}

type SqlRow = Readonly<Record<string, unknown>>;

/** A Durable Object's SQLite database (developers.cloudflare.com/durable-objects/api/sqlite-storage-api). */
export interface SqlStorage {
  exec(statement: string, ...bindings: readonly (string | number)[]): Iterable<SqlRow>;
}

export interface DurableObjectState {
  readonly storage: {
    readonly sql: SqlStorage;
    /** Runs `work` whole or, when it throws, not at all. */
    transactionSync<Result>(work: () => Result): Result;
  };
}

/** A dataset of Workers Analytics Engine (developers.cloudflare.com/analytics/analytics-engine). */
export interface AnalyticsDataset {
  /** Returns at once. */
  writeDataPoint(point: DataPoint): void;
}

export interface DataPoint {
  /** One value, by which the platform samples. */
  readonly indexes: readonly [string];
  readonly blobs: readonly string[];
  readonly doubles: readonly number[];
}

/**
 * The context that a handler is called with in addition to its event
 * (developers.cloudflare.com/workers/runtime-apis/context).
 */
export interface ExecutionContext {
  /** Keeps the event's context alive until `promise` settles, client gone or not; 30 s at the most. */
  waitUntil(promise: Promise<unknown>): void;
}

export type WaitUntil = ExecutionContext['waitUntil'];
