import type { Socket } from 'node:net';
import { byteString } from '../byte-string.ts';
import { type ClientWritable, maximumCopied, type PieceGatherer } from '../client-side.ts';
import { GatheredWrites } from '../gathered-writes.ts';

const lastChunk = '0\r\n\r\n';

type OnWritten = (error?: Error | null) => void;

/**
 * Head and body of one answer on their way into an HTTP/1.1 connection, framed as the head says (RFC 9112 section 6).
 * The head goes with the first piece of the body, unless it is flushed before.
 */
export class FramedBody implements ClientWritable, PieceGatherer {
  /** A short piece is written as a string, which copies it. */
  readonly copiesShort = true;
  readonly #socket: Socket;
  readonly #onEnded: () => void;
  #head = '';
  #isChunked = false;
  /** Bytes that are still to come, where the head says how many there are. */
  #left = 0;
  #isEnded = false;
  #isWritten = false;
  /** From the first piece of a large answer on. */
  #gathered: GatheredWrites | undefined;

  /** @param onEnded called once when the last byte has been handed to the system, and `end` was called */
  constructor(socket: Socket, onEnded: () => void) {
    this.#socket = socket;
    this.#onEnded = onEnded;
  }

  /**
   * What comes first; nothing is written yet.
   * @param length bytes of the body, or that it is chunked
   */
  begin(head: string, length: number | 'chunked'): void {
    this.#head = head;
    this.#isChunked = length === 'chunked';
    this.#left = length === 'chunked' ? 0 : length;
  }

  /** Whether there is a head of which nothing has been written. */
  get isHeld(): boolean {
    return this.#head !== '';
  }

  flush(): void {
    if (!this.isHeld) return;
    // Where no body follows, this is all there is to write; `end` may come later.
    const isAll = !this.#isChunked && this.#left === 0;
    this.#socket.write(this.#takeHead(), 'latin1', isAll ? this.#lastWritten : undefined);
  }

  /**
   * @param onWritten called when the piece may be overwritten
   * @returns false when the client is slower: hold until 'drain'.
   */
  write(chunk: Uint8Array, onWritten?: OnWritten): boolean {
    if (chunk.length === 0) {
      onWritten?.();
      return true;
    }
    // Nothing may overtake what has been gathered.
    this.#gathered?.flush();
    return this.#isChunked ? this.#writeChunk(chunk, onWritten) : this.#writePart(chunk, onWritten);
  }

  /** Head, framing and pieces go into one buffer: of several that are written together, TLS makes one more copy. */
  gather(onRoom: () => void): PieceGatherer {
    this.#gathered = new GatheredWrites(this.#socket, onRoom);
    return this;
  }

  add(chunk: Uint8Array): boolean {
    // As a chunk it would end the body.
    if (chunk.length === 0) return true;
    const gathered = this.#gathered as GatheredWrites;
    if (this.#isChunked) {
      gathered.addText(`${this.#takeHead()}${chunk.length.toString(16)}\r\n`);
      gathered.add(chunk);
      return gathered.addText('\r\n');
    }
    if (!this.#takes(chunk)) return true;
    if (this.isHeld) gathered.addText(this.#takeHead());
    return gathered.add(chunk);
  }

  once(event: 'drain', listener: () => void): unknown {
    return this.#socket.once(event, listener);
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    // The client must not take the next answer for the rest of this one.
    if (this.#left > 0) this.#socket.destroy();
    else if (this.#gathered !== undefined) this.#endGathered(this.#gathered);
    else if (this.#isChunked) this.#socket.write(this.#takeHead() + lastChunk, 'latin1', this.#lastWritten);
    else if (this.isHeld) this.flush();
    else if (this.#isWritten) this.#onEnded();
  }

  #endGathered(gathered: GatheredWrites): void {
    if (this.#isChunked) gathered.addText(lastChunk);
    gathered.end(this.#onEnded);
  }

  #takeHead(): string {
    const head = this.#head;
    this.#head = '';
    return head;
  }

  #writeChunk(chunk: Uint8Array, onWritten: OnWritten | undefined): boolean {
    const before = `${this.#takeHead()}${chunk.length.toString(16)}\r\n`;
    if (chunk.length <= maximumCopied) {
      return this.#socket.write(`${before}${byteString(chunk)}\r\n`, 'latin1', onWritten);
    }
    // In one piece for the system, and in TLS records as large as they may be.
    this.#socket.cork();
    this.#socket.write(before, 'latin1');
    this.#socket.write(chunk);
    const hasRoom = this.#socket.write('\r\n', 'latin1', onWritten);
    this.#socket.uncork();
    return hasRoom;
  }

  /** @returns whether it is within the announced length. */
  #takes(chunk: Uint8Array): boolean {
    this.#left -= chunk.length;
    if (this.#left >= 0) return true;
    // What is beyond would be read as the beginning of the next answer.
    this.#socket.destroy();
    return false;
  }

  #writePart(chunk: Uint8Array, onWritten: OnWritten | undefined): boolean {
    if (!this.#takes(chunk)) return true;
    const written = this.#left > 0 ? onWritten : this.#lastOf(onWritten);
    if (chunk.length <= maximumCopied) {
      return this.#socket.write(this.#takeHead() + byteString(chunk), 'latin1', written);
    }
    if (!this.isHeld) return this.#socket.write(chunk, written);
    this.#socket.cork();
    this.#socket.write(this.#takeHead(), 'latin1');
    const hasRoom = this.#socket.write(chunk, written);
    this.#socket.uncork();
    return hasRoom;
  }

  #lastOf(onWritten: OnWritten | undefined): OnWritten {
    if (onWritten === undefined) return this.#lastWritten;
    return (error) => {
      onWritten(error);
      this.#lastWritten(error);
    };
  }

  /** A write that failed ends the connection, and with it the answer. */
  readonly #lastWritten: OnWritten = (error) => {
    if (error !== undefined && error !== null) return;
    this.#isWritten = true;
    if (this.#isEnded) this.#onEnded();
  };
}
