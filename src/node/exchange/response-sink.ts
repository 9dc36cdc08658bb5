import type { RawHeaders } from '../../apimachinery/raw-headers.ts';

/** Writes the response to one request. */
export interface ResponseSink {
  /** Watches the client: when it can take more, and when it has gone. Undone by `release`. */
  attach(onDrain: () => void, onGone: () => void): void;
  /** Stops watching the client. */
  release(): void;
  /** Writes the head. @throws if it is invalid; nothing was written then. */
  start(status: number, statusMessage: string, headers: RawHeaders): Response;
  /** @returns false when the client is slower: wait for `onDrain`. */
  write(chunk: Uint8Array): boolean;
  /** As `write`, for bytes that are overwritten as soon as it returns. Without it they are copied for `write`. */
  lend?(chunk: Uint8Array): boolean;
  end(): void;
  /** Breaks the response off: the client must not take a part for the whole. */
  breakOff(error: Error): void;
}
