import {
  type Budget,
  connectionError,
  errorCode,
  type FrameKind,
  type FrameRules,
  ignoreAndCount,
  onAnyStream,
  onConnection,
  protocolError,
  streamError,
  take,
  takeAndCount,
} from '../frames/frame.ts';
import { LeakyBucket, type Tolerance } from '../frames/leaky-bucket.ts';

/**
 * Tolerances for one connection. Well-behaved clients stay far below; packages/http2/frames.md explains each figure.
 */
export const connectionTolerances: Readonly<Record<Budget, Tolerance>> = {
  // Burst: twice the number of streams, for a client that cancels all of them. Rate: that of nghttp2.
  resets: { burst: 200, perSecond: 33 },
  // One frame per request, such as its priority, is free.
  'idle frames': { burst: 200, perSecond: 50, earnedAtMost: 200 },
  'small data': { burst: 2_000, perSecond: 2_000 },
  'window updates': { burst: 200, perSecond: 50, earnedAtMost: 65_536 },
};
/** For a client with a verified certificate: it may be a proxy that carries the requests of many users. */
export const verifiedResets: Tolerance = { burst: 1_000, perSecond: 33 };

/** WINDOW_UPDATEs allowed for each DATA frame that we send: one for its stream, one for the connection. */
export const updatesForData = 2;
/** One more WINDOW_UPDATE is allowed for this many bytes sent: Go's client sends two for each 4 KiB read. */
export const bytesForUpdate = 1_024;

/** Bytes of control frames that a client caused and did not read (CVE-2019-9512, CVE-2019-9515). */
const maximumUnread = 1024 * 1024;

interface ClientBudgetOptions {
  /** Requests refused beyond the limit of streams, as a burst; one a second is forgiven. */
  readonly maximumRefused: number;
  readonly isVerified: boolean;
  readonly address: string;
  readonly addresses: AddressResets;
}

/** The budgets of one connection. When one is exceeded, methods throw an {Http2Error} with ENHANCE_YOUR_CALM. */
export class ClientBudgets {
  readonly #buckets: Readonly<Record<Budget, LeakyBucket>>;
  readonly #refusals: LeakyBucket;
  readonly #address: string;
  readonly #addresses: AddressResets | undefined;
  #requests = 0;
  #resets = 0;

  constructor({ maximumRefused, isVerified, address, addresses }: ClientBudgetOptions) {
    this.#buckets = {
      resets: new LeakyBucket(isVerified ? verifiedResets : connectionTolerances.resets),
      'idle frames': new LeakyBucket(connectionTolerances['idle frames']),
      'small data': new LeakyBucket(connectionTolerances['small data']),
      'window updates': new LeakyBucket(connectionTolerances['window updates']),
    };
    this.#refusals = new LeakyBucket({ burst: maximumRefused, perSecond: 1 });
    this.#address = address;
    this.#addresses = isVerified ? undefined : addresses;
  }

  /**
   * Resets are those of the client (CVE-2023-44487), and ours that it caused (CVE-2025-8671): the work done for a stream was
   * wasted.
   */
  count(budget: Budget): void {
    const now = performance.now();
    const bucket = this.#buckets[budget];
    if (!bucket.add(now)) throw enhanceYourCalm(`the budget of ${budget} is exceeded`);
    if (budget !== 'resets') return;
    this.#resets += 1;
    const isInCrowd = this.#addresses?.exceeds(this.#address, bucket, now) === true;
    // Behind a shared address: who has most requests carried out does not pay for others with those that it has left.
    if (isInCrowd && this.#resets > this.#requests / 2) {
      throw enhanceYourCalm('too many stream resets from this address');
    }
  }

  requested(): void {
    this.#requests += 1;
    this.#buckets['idle frames'].earn(1);
    this.#buckets['window updates'].earn(1);
  }

  dataSent(bytes: number): void {
    this.#buckets['window updates'].earn(updatesForData + Math.floor(bytes / bytesForUpdate));
  }

  /** A request was refused because the client exceeded SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113 section 5.1.2). */
  refused(): void {
    if (!this.#refusals.add()) throw enhanceYourCalm('too many concurrent streams');
  }

  /** @param bytes of acknowledgements, heads and resets that were written since the client stopped reading */
  leftUnread(bytes: number): void {
    if (bytes > maximumUnread) throw enhanceYourCalm('the client does not read what it is sent');
  }
}

function enhanceYourCalm(reason: string): Error {
  return connectionError(errorCode.enhanceYourCalm, reason);
}

/** Resets allowed from one address, over all of its connections: what ten connections may do. */
export const addressTolerance: Tolerance = { burst: 2_000, perSecond: 330 };
/**
 * Resets that one connection may cause after its address has had too many. Fewer cost less than the handshake before
 * them, so reconnecting gains nothing. Behind a load balancer all clients share one address: a client that resets few
 * streams, or fewer than half of its requests, is not punished for the others.
 */
export const resetsInCrowd = 10;
const remembered = 4_096;

/**
 * Counts stream resets by client address, so that a new connection does not start with an empty budget
 * (CVE-2023-44487). Only resets count: a thousand connections that reset nothing add nothing.
 */
export class AddressResets {
  readonly #buckets = new Map<string, LeakyBucket>();

  /**
   * Counts one reset.
   * @param own the resets of the connection itself @param now milliseconds of a monotonic clock
   * @returns whether the connection must be closed
   */
  exceeds(address: string, own: LeakyBucket, now: number): boolean {
    const network = networkOf(address);
    const bucket = this.#buckets.get(network) ?? new LeakyBucket(addressTolerance);
    this.#buckets.delete(network);
    this.#buckets.set(network, bucket);
    const [oldest] = this.#buckets.keys();
    if (this.#buckets.size > remembered && oldest !== undefined) this.#buckets.delete(oldest);
    return !bucket.add(now) && own.levelAt(now) > resetsInCrowd;
  }

  get size(): number {
    return this.#buckets.size;
  }
}

/** The IPv4 address, or the /64 network of an IPv6 address: a client can use every address of its /64. */
export function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [front = '', back] = address.split('::', 2);
  const first = front.split(':');
  const last = back?.split(':') ?? [];
  const zeros = back === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array.from({ length: zeros }, () => '0'), ...last].slice(0, 4).join(':');
}

const idle = 'idle frames';
const streamClosed = streamError(errorCode.streamClosed);

function data(counts?: Budget): FrameRules[FrameKind] {
  return {
    connection: protocolError,
    // RFC 9113 section 5.1, "idle".
    idle: protocolError,
    open: takeAndCount(counts),
    // RFC 9113 section 6.1.
    'half-closed': streamClosed,
    // RFC 9113 section 5.1, "closed": it crossed our RST_STREAM. At most what the stream's window still allowed.
    'closed by us': ignoreAndCount(counts),
    closed: streamClosed,
    // RFC 9113 section 6.8.
    'after our GOAWAY': ignoreAndCount(counts),
  };
}

/**
 * The effect of each frame of a client, and the budget that counts the frame. packages/http2/frames.md shows this
 * table; `client-budgets.test.ts` tests every cell.
 */
export const clientFrameRules: FrameRules = {
  DATA: data(),
  'DATA with little content': data('small data'),
  // CVE-2019-9518. Padding does not count as content.
  'DATA without content or end': data(idle),
  'HEADERS of a message': {
    connection: protocolError,
    idle: take,
    // A second head is malformed, read as trailers (RFC 9113 section 8.1).
    open: streamError(errorCode.protocolError),
    'half-closed': streamClosed,
    // RFC 9113 section 5.1.1: the identifier was used before, or is lower than one that was.
    'closed by us': protocolError,
    closed: protocolError,
    'after our GOAWAY': ignoreAndCount(idle),
  },
  'HEADERS of trailers': {
    connection: protocolError,
    idle: streamError(errorCode.protocolError),
    open: take,
    'half-closed': streamClosed,
    'closed by us': ignoreAndCount(idle),
    closed: streamClosed,
    'after our GOAWAY': ignoreAndCount(idle),
  },
  // RFC 9113 section 6.10. CONTINUATION within a block is handled with HEADERS.
  'CONTINUATION of nothing': onAnyStream(protocolError),
  // RFC 9113 section 5.3.2: priorities are ignored.
  PRIORITY: onAnyStream(ignoreAndCount(idle), { connection: protocolError }),
  RST_STREAM: {
    connection: protocolError,
    idle: protocolError,
    // CVE-2023-44487: the work done for it was wasted.
    open: takeAndCount('resets'),
    'half-closed': takeAndCount('resets'),
    // The frame crossed the end of our response, or our own RST_STREAM.
    'closed by us': ignoreAndCount(idle),
    closed: ignoreAndCount(idle),
    'after our GOAWAY': ignoreAndCount(idle),
  },
  // CVE-2019-9515. The first SETTINGS is not counted.
  SETTINGS: onConnection(takeAndCount(idle)),
  'SETTINGS that acknowledge': onConnection(ignoreAndCount(idle)),
  // RFC 9113 section 8.4.
  PUSH_PROMISE: onAnyStream(protocolError),
  // CVE-2019-9512.
  PING: onConnection(takeAndCount(idle)),
  'PING that acknowledges': onConnection(ignoreAndCount(idle)),
  GOAWAY: onConnection(takeAndCount(idle)),
  WINDOW_UPDATE: {
    connection: takeAndCount('window updates'),
    idle: protocolError,
    open: takeAndCount('window updates'),
    'half-closed': takeAndCount('window updates'),
    'closed by us': ignoreAndCount('window updates'),
    closed: ignoreAndCount('window updates'),
    'after our GOAWAY': ignoreAndCount('window updates'),
  },
  // RFC 9113 section 5.5.
  'of an unknown type': onAnyStream(ignoreAndCount(idle)),
};
