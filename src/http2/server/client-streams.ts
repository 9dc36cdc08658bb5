import { errorCode } from '../frames/frame.ts';
import type { StreamState } from '../frames/frame-rules.ts';
import { connectionError } from '../frames/http2-error.ts';
import { StreamTable } from '../frames/stream-table.ts';
import type { ServerStream } from './server-stream.ts';

/** The streams of one client: the open ones, and a record of closed ones (RFC 9113 section 5.1). */
export class ClientStreams {
  readonly #open = new StreamTable<ServerStream>();
  readonly #givenUp = new GivenUpStreams();
  readonly #window: number;
  #lastId = 0;
  /** Whether the client was told that no stream after the last one is processed. */
  isGoAwaySent = false;

  /** @param window flow-control window of each stream, in bytes */
  constructor(window: number) {
    this.#window = window;
  }

  get size(): number {
    return this.#open.size;
  }

  /** The highest stream identifier that was opened. */
  get lastId(): number {
    return this.#lastId;
  }

  get(streamId: number): ServerStream | undefined {
    return this.#open.get(streamId);
  }

  /** The open streams, oldest first. */
  all(): ServerStream[] {
    return this.#open.all();
  }

  /** The connection is gone. @param failed is given what a stream's listener threw */
  abandon(failed: (error: unknown) => void): void {
    for (const stream of this.#open.all()) {
      try {
        stream.abandon();
      } catch (error) {
        // The other streams must still be told.
        failed(error);
      }
    }
  }

  /** The state of a stream that is not open. */
  stateOf(streamId: number): Exclude<StreamState, 'connection' | 'open' | 'half-closed'> {
    // Only servers open even ones, and we open none.
    if (streamId % 2 === 0) return 'idle';
    if (streamId > this.#lastId) return this.isGoAwaySent ? 'after our GOAWAY' : 'idle';
    return this.#givenUp.has(streamId) ? 'closed by us' : 'closed';
  }

  /** The client used a new identifier. @throws {Http2Error} RFC 9113 section 5.1.1 */
  opened(streamId: number): void {
    if (streamId % 2 === 0)
      throw connectionError(errorCode.protocolError, 'a client must use odd stream identifiers');
    this.#lastId = streamId;
  }

  add(stream: ServerStream): void {
    this.#open.add(stream);
  }

  /** The stream is closed. If the request was not whole, frames that are in transit may still arrive. */
  closed(stream: ServerStream): void {
    this.#open.delete(stream.id);
    if (!stream.isReceived) this.#givenUp.add(stream.id, stream.receiveWindow);
  }

  /** A stream was refused before it was opened. @param endStream whether nothing follows its head */
  refused(streamId: number, endStream: boolean): void {
    if (!endStream) this.#givenUp.add(streamId, this.#window);
  }

  lateData(streamId: number, bytes: number): void {
    this.#givenUp.receive(streamId, bytes);
  }
}

/** Streams that are remembered: more than a connection may have open, and few enough to search. */
const remembered = 256;

/**
 * The latest streams that we closed before the peer ended its message. Frames in transit still arrive, with as much
 * content as the stream's window allowed (RFC 9113 section 5.1, "closed").
 */
export class GivenUpStreams {
  readonly #identifiers: number[] = [];
  /** Bytes that may still arrive on each. */
  readonly #windows: number[] = [];
  /** Where the next one is stored. */
  #next = 0;

  /** @param window bytes that the peer may have sent on it */
  add(streamId: number, window: number): void {
    this.#identifiers[this.#next] = streamId;
    this.#windows[this.#next] = window;
    this.#next = (this.#next + 1) % remembered;
  }

  has(streamId: number): boolean {
    return this.#identifiers.includes(streamId);
  }

  /** DATA arrived. A stream with more than its window allowed is forgotten. */
  receive(streamId: number, bytes: number): void {
    const place = this.#identifiers.indexOf(streamId);
    if (place === -1) return;
    const left = (this.#windows[place] as number) - bytes;
    this.#windows[place] = left;
    if (left < 0) this.#identifiers[place] = 0;
  }
}
