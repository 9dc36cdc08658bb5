import type { HeldBytes, ResponseWriter } from '../../../packages/http2/shared.ts';
import { firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { type WatchEventBoundary, watchEventBoundary } from '../../apimachinery/watch-event-boundary.ts';
import type { OutboundRequest } from '../../request/transport.ts';
import type { ResponseSink } from './response-sink.ts';

export interface OpenStream {
  /** Ends it cleanly as soon as possible. Left out for one that has no clean end but its own. */
  endSoon?(): void;
  /** True if the stream would now be routed to another server. Default: no. */
  readonly isMisplaced?: (() => boolean) | undefined;
  cut(): void;
}

interface EndOptions {
  /** Milliseconds over which streams are ended. */
  readonly over: number;
  /** In [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

/** Milliseconds between two batches. */
const slice = 100;

/**
 * The open streams. On shutdown they end at different times: each client reconnects at once, and a watch whose
 * resourceVersion is too old costs a list.
 */
export class OpenStreams {
  readonly #streams = new Set<OpenStream>();
  #batches: OpenStream[][] | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The turn in which each is looked at next: at most one look of each is to come. */
  readonly #looks = new Map<OpenStream, number>();
  #turn = 0;
  #lookTimer: NodeJS.Timeout | undefined;

  get size(): number {
    return this.#streams.size;
  }

  opened(stream: OpenStream): void {
    this.#streams.add(stream);
    if (this.#batches === undefined) return;
    if (this.#batches.length === 0) stream.endSoon?.();
    else this.#batches.at(-1)?.push(stream);
  }

  closed(stream: OpenStream): void {
    this.#streams.delete(stream);
    this.#looks.delete(stream);
  }

  end(options: EndOptions): void {
    if (this.#batches !== undefined) return;
    this.#batches = options.over < slice ? [] : batchesOf(this.#streams, options);
    if (this.#batches.length > 0) this.#timer = this.#endInTurn(this.#batches);
    else for (const stream of [...this.#streams]) stream.endSoon?.();
  }

  /**
   * Looks at each at a random time within `over`, and cleanly ends it if it would be routed to another server by then. A look that is
   * to come sooner stays: a snapshot that comes while a version is about to change puts none off.
   */
  endMisplaced({ over, random = Math.random }: EndOptions): void {
    const turns = turnsIn(over);
    for (const stream of this.#streams) {
      if (stream.isMisplaced === undefined) continue;
      const turn = this.#turn + 1 + Math.floor(random() * turns);
      this.#looks.set(stream, Math.min(turn, this.#looks.get(stream) ?? turn));
    }
    if (this.#looks.size > 0) this.#lookTimer ??= setInterval(() => this.#look(), slice).unref();
  }

  #look(): void {
    this.#turn++;
    for (const [stream, turn] of this.#looks) {
      if (turn > this.#turn) continue;
      this.#looks.delete(stream);
      if (stream.isMisplaced?.() === true) stream.endSoon?.();
    }
    if (this.#looks.size > 0) return;
    clearInterval(this.#lookTimer);
    this.#lookTimer = undefined;
  }

  cut(): void {
    clearInterval(this.#timer);
    clearInterval(this.#lookTimer);
    this.#batches = [];
    for (const stream of [...this.#streams]) stream.cut();
  }

  #endInTurn(batches: OpenStream[][]): NodeJS.Timeout {
    const timer = setInterval(() => {
      const batch = batches.shift() ?? [];
      if (batches.length === 0) clearInterval(timer);
      for (const stream of batch) if (this.#streams.has(stream)) stream.endSoon?.();
    }, slice);
    return timer;
  }
}

function turnsIn(over: number): number {
  return Math.max(1, Math.floor(over / slice));
}

function batchesOf(
  streams: Iterable<OpenStream>,
  { over, random = Math.random }: EndOptions,
): OpenStream[][] {
  const count = turnsIn(over);
  const batches: OpenStream[][] = Array.from({ length: count }, () => []);
  for (const stream of streams) batches[Math.floor(random() * count)]?.push(stream);
  return batches;
}

/**
 * The sink of a response to a long-running request, which the router may have to end before the destination does. A
 * watch ends cleanly between two events (last chunk, END_STREAM), and its client continues from its last
 * resourceVersion. Anything else (a log, a proxied stream) can only be broken off.
 */
export class LongRunningResponse implements ResponseSink, OpenStream {
  readonly #sink: ResponseSink;
  readonly #streams: OpenStreams;
  readonly #isWatch: boolean;
  #boundary: WatchEventBoundary | undefined;
  #isEnding = false;
  #isOver = false;

  readonly isMisplaced: (() => boolean) | undefined;
  readonly #isOfBefore: (() => boolean) | undefined;

  constructor(
    sink: ResponseSink,
    {
      isWatch = false,
      isMisplaced,
      isOfBefore,
    }: Pick<OutboundRequest, 'isWatch' | 'isMisplaced' | 'isOfBefore'>,
    streams: OpenStreams,
  ) {
    this.#sink = sink;
    this.#isWatch = isWatch;
    this.isMisplaced = isMisplaced;
    this.#isOfBefore = isOfBefore;
    this.#streams = streams;
  }

  get held(): HeldBytes | undefined {
    return this.#sink.held;
  }

  get response(): Response | undefined {
    return this.#sink.response;
  }

  attach(writer: ResponseWriter): void {
    this.#sink.attach(writer);
  }

  release(): void {
    this.#streams.closed(this);
    this.#sink.release();
  }

  respond(status: number, headers: RawHeaders, reason?: string): void {
    this.#sink.respond(status, headers, reason);
    // An error (403, 410) ends by itself.
    if (this.#isWatch && status === 200) {
      this.#boundary = watchEventBoundary(
        firstHeader(headers, 'content-type'),
        firstHeader(headers, 'content-encoding'),
      );
    }
    this.#streams.opened(this);
  }

  write(chunk: Uint8Array): boolean {
    if (this.#isOver) return true;
    if (this.#boundary === undefined) return this.#sink.write(chunk);
    if (this.#isOfBefore?.() === true) {
      this.#streams.closed(this);
      this.breakOff(new Error('the router stood still, and asks the API servers again'));
      return true;
    }
    const end = this.#boundary.follow(chunk);
    if (!this.#isEnding || end === 0) return this.#sink.write(chunk);
    this.#sink.write(chunk.subarray(0, end));
    this.#endNow();
    return true;
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.end();
  }

  /**
   * A watch whose server is gone ends as any other, if it stands between two events. A reset stream is an Internal error
   * to client-go (k8s.io/apimachinery pkg/watch/streamwatcher.go), after which informers list everything again; after
   * an end they watch on from their last resourceVersion, as when the server itself was lost to them.
   */
  breakOff(error: Error): void {
    if (this.#boundary?.isAtEnd === true) this.end();
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.breakOff(error);
  }

  endSoon(): void {
    if (this.#boundary === undefined) return;
    this.#isEnding = true;
    if (this.#boundary.isAtEnd) this.#endNow();
  }

  cut(): void {
    this.breakOff(new Error('the router is shutting down'));
  }

  /** Drops what the destination still sends; the end of the client's exchange also ends the destination's. */
  #endNow(): void {
    this.#streams.closed(this);
    this.end();
  }
}
