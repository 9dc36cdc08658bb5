import { errorCode } from '../frames/frame.ts';
import type { StreamState } from '../frames/frame-rules.ts';
import { GivenUpStreams } from '../frames/given-up-streams.ts';
import { connectionFault } from '../frames/http2-error.ts';
import { StreamTable } from '../frames/stream-table.ts';
import type { ServerStream } from './server-stream.ts';

/** The streams that one client has opened: those that are open, and what is known of the others (RFC 9113 section 5.1). */
export class ClientStreams {
  readonly #open = new StreamTable<ServerStream>();
  readonly #givenUp = new GivenUpStreams();
  readonly #window: number;
  #lastId = 0;
  /** Whether the client has been told that there will be no more than the last one. */
  isGoAwaySent = false;

  /** @param window bytes that the client may send ahead on each */
  constructor(window: number) {
    this.#window = window;
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** The highest identifier of one that was opened. */
  get lastId(): number {
    return this.#lastId;
  }

  get(streamId: number): ServerStream | undefined {
    return this.#open.get(streamId);
  }

  /** Those that are open now, the oldest first. */
  all(): ServerStream[] {
    return this.#open.all();
  }

  /** The connection is gone. @param failed told of what a stream's listener threw */
  abandon(failed: (error: unknown) => void): void {
    for (const stream of this.#open.all()) {
      try {
        stream.abandon();
      } catch (error) {
        // The others have to be told all the same.
        failed(error);
      }
    }
  }

  /** Of one that is not open. */
  stateOf(streamId: number): Exclude<StreamState, 'connection' | 'open' | 'half-closed'> {
    // Even ones are ours to open, and we open none.
    if (streamId % 2 === 0) return 'idle';
    if (streamId > this.#lastId) return this.isGoAwaySent ? 'behind our GOAWAY' : 'idle';
    return this.#givenUp.has(streamId) ? 'closed by us' : 'closed';
  }

  /** The client has used an identifier. @throws {Http2Error} RFC 9113 section 5.1.1 */
  opened(streamId: number): void {
    if (streamId % 2 === 0) throw connectionFault(errorCode.protocolError, 'a client has odd identifiers');
    this.#lastId = streamId;
  }

  add(stream: ServerStream): void {
    this.#open.add(stream);
  }

  /** It is over. What was on its way still comes, where it is over before its end. */
  closed(stream: ServerStream): void {
    this.#open.delete(stream.id);
    if (!stream.isReceived) this.#givenUp.add(stream.id, stream.receiveWindow);
  }

  /** One was refused before it was one. @param endStream whether nothing follows its head */
  refused(streamId: number, endStream: boolean): void {
    if (!endStream) this.#givenUp.add(streamId, this.#window);
  }

  /** DATA came on one that we have given up. */
  lateData(streamId: number, bytes: number): void {
    this.#givenUp.receive(streamId, bytes);
  }
}
