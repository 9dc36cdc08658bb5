import type { ServerDocuments } from './server-documents.ts';

/** The answer to a watch, whatever its code. */
export interface WatchAnswer {
  readonly status: number;
  /** The body as it comes: JSON, one event a line. Ends when the server ends it, throws when it breaks off. */
  readonly chunks: AsyncIterable<string>;
}

/** An API server, or what stands in front of several, to list and watch through. */
export interface WatchConnection extends ServerDocuments {
  /**
   * Opens a watch.
   *
   * @param path path and query
   * @param signal ends the watch and frees its connection
   * @throws {ReadError} `Unreachable` when there was no answer
   */
  watch(path: string, signal: AbortSignal): Promise<WatchAnswer>;
}
