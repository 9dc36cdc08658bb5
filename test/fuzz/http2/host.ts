import assert from 'node:assert/strict';
import { AddressResets } from '../../../src/http2/server/client-budgets.ts';
import type { ResponseWriter } from '../../../src/http2/server/incoming-stream.ts';
import { defaultHttp2ServerLimits, type ServerSessionHost } from '../../../src/http2/server/server-limits.ts';
import type { ServerStream } from '../../../src/http2/server/server-stream.ts';
import { type BudgetShare, MemoryBudget } from '../../../src/http2/sockets/held-bytes.ts';
import { limits, longValue, pieceLength, shortLength, wholeAnswer } from './expected-answers.ts';

/** How the host deals with a request. */
export interface Handling {
  readonly answer: 'at once' | 'in pieces' | 'unheld' | 'broken off' | 'never';
  readonly reads: boolean;
}

/** A request as the host has been given it, with the answer to it. */
export class Exchange implements ResponseWriter {
  readonly stream: ServerStream;
  readonly handling: Handling;
  readonly received: Buffer[] = [];
  hasEnded = false;
  timesClosed = 0;
  readonly #onClosed: () => void;
  #written = 0;

  constructor(stream: ServerStream, handling: Handling, onClosed: () => void) {
    this.stream = stream;
    this.handling = handling;
    this.#onClosed = onClosed;
    stream.writer = this;
    if (handling.reads && !stream.isReceived) {
      stream.content.on('data', (piece: Buffer) => this.received.push(piece));
      stream.content.on('end', () => {
        this.hasEnded = true;
      });
    }
    switch (handling.answer) {
      case 'at once':
        stream.respond(200, ['Content-Type', 'text/plain']);
        stream.write(wholeAnswer.subarray(0, shortLength));
        stream.end();
        break;
      case 'in pieces':
        stream.respondInterim(100);
        setImmediate(() => {
          stream.respond(200, ['X-Long', longValue]);
          this.onRoom();
        });
        break;
      case 'unheld':
        stream.respond(200, []);
        // The stream may be over by then, and it writes all the same.
        setImmediate(() => {
          for (let offset = 0; offset < wholeAnswer.length; offset += pieceLength) {
            stream.write(wholeAnswer.subarray(offset, offset + pieceLength));
          }
          stream.end();
        });
        break;
      case 'broken off':
        stream.respond(200, []);
        stream.write(wholeAnswer);
        setImmediate(() => stream.breakOff());
        break;
    }
  }

  onRoom(): void {
    if (this.handling.answer !== 'in pieces' || this.stream.status === undefined) return;
    while (this.#written < wholeAnswer.length) {
      const piece = wholeAnswer.subarray(this.#written, this.#written + pieceLength);
      this.#written += piece.length;
      const hasRoom = this.stream.write(piece);
      if (!hasRoom && this.#written < wholeAnswer.length) return;
    }
    this.stream.end();
  }

  onClosed(): void {
    this.timesClosed++;
    this.#onClosed();
  }
}

export class Host implements ServerSessionHost {
  readonly limits = { ...defaultHttp2ServerLimits, ...limits };
  readonly addresses = new AddressResets();
  readonly exchanges: Exchange[] = [];
  mostOpen = 0;
  /** What nobody foresaw: the session has caught it. */
  failure: unknown;
  readonly #handling: readonly Handling[];
  readonly #memory = new MemoryBudget(2 ** 26);
  #open = 0;

  constructor(handling: readonly Handling[]) {
    this.#handling = handling;
  }

  isVerified(): boolean {
    return false;
  }

  shareOf(): BudgetShare {
    return this.#memory.others;
  }

  headTooLarge(stream: ServerStream): void {
    stream.respond(431, []);
    stream.end();
  }

  requested(stream: ServerStream): void {
    this.mostOpen = Math.max(this.mostOpen, ++this.#open);
    const handling = this.#handling[this.exchanges.length % this.#handling.length];
    assert.ok(handling !== undefined);
    this.exchanges.push(new Exchange(stream, handling, () => this.#open--));
  }

  failed(error: unknown): void {
    this.failure ??= error;
  }
}
