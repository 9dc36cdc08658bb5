import { CodedError, errorMessage } from '../../runtime/errors.ts';
import { withDeadline } from '../../runtime/time.ts';

/** A complete response of an API server, with any status. */
export interface ServerDocument {
  readonly status: number;
  /** The Content-Type header; empty if the response has none. */
  readonly contentType: string;
  readonly body: string;
}

/** The one way to read an API server: live over HTTPS, or from a recorded folder. */
export interface ServerDocuments {
  /**
   * Gets one document.
   *
   * @param path path and query, for example `/apis/apps/v1`
   * @param accept the Accept header
   * @param signal cancels the request
   * @throws {ReadError} `Unreachable` if there is no complete response (no connection, broken off, too slow, too large),
   *   `InvalidDocument` if the body is not text
   */
  get(path: string, accept: string, signal?: AbortSignal): Promise<ServerDocument>;
}

/** The response to a watch, with any status. */
export interface WatchResponse {
  readonly status: number;
  /** The body as it arrives: one JSON event per line. Ends when the server ends it, throws when it breaks off. */
  readonly chunks: AsyncIterable<string>;
}

/** An API server, or a load balancer in front of several, to list and watch through. */
export interface WatchConnection extends ServerDocuments {
  /**
   * Opens a watch.
   *
   * @param path path and query
   * @param signal ends the watch and frees its connection
   * @throws {ReadError} `Unreachable` if there is no response
   */
  watch(path: string, signal: AbortSignal): Promise<WatchResponse>;
}

export type ReadErrorCode =
  /** There was no complete response. */
  | 'Unreachable'
  /** A status that says nothing about what is served: 401, 403, 500, a redirect, … */
  | 'UnexpectedStatus'
  /** A response that is not JSON, for example the HTML page of a load balancer. */
  | 'UnexpectedContentType'
  /** JSON that breaks off, or that is another document. */
  | 'InvalidDocument'
  /** Complete documents without a single resource, or a `/readyz` that says so: the server is still starting. */
  | 'NothingServed';

/** A document, and with it a server, that could not be read. It never means that the server serves less. */
export class ReadError extends CodedError<ReadErrorCode> {
  override readonly name = 'ReadError';
}

/** The error of a request for `path` without a complete response. */
export function unreachable(path: string, cause: unknown): ReadError {
  return new ReadError('Unreachable', `${withoutQuery(path)}: ${errorMessage(cause)}`, { cause });
}

/** A path as messages name it: the query differs from one attempt to the next. */
export function withoutQuery(path: string): string {
  return path.split('?', 1)[0] ?? '';
}

/**
 * Runs a read that may take `milliseconds`.
 *
 * @throws {ReadError} `Unreachable` when the time is over, the reason of `signal`, or what the read throws
 */
export async function withReadTimeout<Result>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  read: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const timedOut = () => new ReadError('Unreachable', `no complete response within ${milliseconds} ms`);
  return withDeadline(milliseconds, signal, timedOut, read);
}

/**
 * Reads what all servers share from the first that has it.
 *
 * @param read may resolve with `undefined`: the server does not serve it
 * @returns `undefined` if no server serves it
 * @throws the error of the last server that could not be read, if no other one has it
 */
export async function readFromFirst<Result>(
  servers: readonly ServerDocuments[],
  read: (documents: ServerDocuments) => Promise<Result>,
): Promise<Result> {
  let unserved: { readonly result: Result } | undefined;
  let failure: { readonly error: unknown } | undefined;
  for (const documents of servers) {
    try {
      const result = await read(documents);
      if (result !== undefined) return result;
      unserved = { result };
    } catch (error) {
      failure = { error };
    }
  }
  if (failure !== undefined) throw failure.error;
  if (unserved !== undefined) return unserved.result;
  throw new ReadError('Unreachable', 'no server can be read');
}
