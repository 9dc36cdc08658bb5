/** A whole answer of an API server, whatever its code. */
export interface ServerDocument {
  readonly status: number;
  /** The Content-Type header; empty when the answer had none. */
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
   * @param signal gives up the wait
   * @throws {ReadError} `Unreachable` when no whole answer arrived (not reached, broken off, too slow, too large),
   *   `InvalidDocument` when it is no text.
   */
  get(path: string, accept: string, signal?: AbortSignal): Promise<ServerDocument>;
}

export type ReadErrorCode =
  /** No whole answer arrived. */
  | 'Unreachable'
  /** An answer with a code that says nothing about what is served: 401, 403, 500, a redirect, … */
  | 'UnexpectedStatus'
  /** An answer that is not JSON, for example the HTML page of a load balancer. */
  | 'UnexpectedContentType'
  /** JSON that breaks off, or that is not the document that was asked for. */
  | 'InvalidDocument'
  /** Whole documents that together hold not one resource: a server that is still starting. */
  | 'NothingServed';

/** A document, and with it a server, that could not be read. Never to be taken for "serves less". */
export class ReadError extends Error {
  override readonly name = 'ReadError';
  readonly code: ReadErrorCode;
  constructor(code: ReadErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}
