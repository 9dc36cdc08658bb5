import { errorCode } from '../frames/frame.ts';
import type { Budget } from '../frames/frame-rules.ts';
import { connectionFault } from '../frames/http2-error.ts';
import { LeakyBucket, type Tolerance } from '../frames/leaky-bucket.ts';
import type { AddressConduct } from './address-conduct.ts';

/**
 * How much of each one connection may do. What a well-behaved client does is far below, and why is written down in
 * docs/explanation/http2-frames.md.
 */
export const connectionTolerances: Readonly<Record<Budget, Tolerance>> = {
  // Twice as many at once as there may be streams, for whoever gives up all of them; the rate is nghttp2's.
  resets: { burst: 200, perSecond: 33 },
  // What comes with a request, such as its priority, is none of them.
  'idle frames': { burst: 200, perSecond: 50, earnedAtMost: 200 },
  'small data': { burst: 2_000, perSecond: 2_000 },
  'window updates': { burst: 200, perSecond: 50, earnedAtMost: 65_536 },
};
/** One connection with a verified certificate may carry the requests of many: it is a proxy's, or a peer's. */
export const verifiedResets: Tolerance = { burst: 1_000, perSecond: 33 };

/** `WINDOW_UPDATE`s that may follow each frame of DATA that we send: one for its stream, one for the connection. */
export const updatesForData = 2;
/** Bytes of it for which there may be one more: Go's client sends two for each 4 KiB that its user has read. */
export const bytesForUpdate = 1_024;

/** Bytes that wait for a client that makes us answer, and reads none of it (CVE-2019-9512, CVE-2019-9515). */
const maximumUnread = 1024 * 1024;
/** Bytes of content: more than all of its streams can bring in one piece each, which they do before they are held. */
const maximumUnreadContent = 16 * 1024 * 1024;

export interface ClientConductOptions {
  /** Requests beyond the limit of streams, at once; one more is forgotten each second. */
  readonly maximumRefused: number;
  /** Whether the client has shown a certificate that was verified. */
  readonly isVerified: boolean;
  readonly address: string;
  /** What all connections of an address do; those of verified clients are left out. */
  readonly addresses: AddressConduct;
}

/** What one client may do before its connection ends with ENHANCE_YOUR_CALM. Methods throw {Http2Error} then. */
export class ClientConduct {
  readonly #resets: LeakyBucket;
  readonly #idleFrames = new LeakyBucket(connectionTolerances['idle frames']);
  readonly #smallData = new LeakyBucket(connectionTolerances['small data']);
  readonly #windowUpdates = new LeakyBucket(connectionTolerances['window updates']);
  readonly #refusals: LeakyBucket;
  readonly #address: string;
  readonly #addresses: AddressConduct | undefined;

  constructor({ maximumRefused, isVerified, address, addresses }: ClientConductOptions) {
    this.#resets = new LeakyBucket(isVerified ? verifiedResets : connectionTolerances.resets);
    this.#refusals = new LeakyBucket({ burst: maximumRefused, perSecond: 1 });
    this.#address = address;
    this.#addresses = isVerified ? undefined : addresses;
  }

  count(budget: Budget): void {
    switch (budget) {
      case 'resets':
        this.#reset();
        break;
      case 'idle frames':
        if (!this.#idleFrames.add()) throw tooMuch('too many frames that ask for nothing');
        break;
      case 'small data':
        if (!this.#smallData.add()) throw tooMuch('its content comes in scraps');
        break;
      case 'window updates':
        if (!this.#windowUpdates.add()) throw tooMuch('windows are widened more often than they are used');
        break;
    }
  }

  /** A request was begun: something may come with it, and something behind its end. */
  requested(): void {
    this.#idleFrames.earn(1);
    this.#windowUpdates.earn(1);
  }

  /** A frame of DATA was sent, for which windows may be widened. */
  dataSent(bytes: number): void {
    this.#windowUpdates.earn(updatesForData + Math.floor(bytes / bytesForUpdate));
  }

  /**
   * A stream ended before its time by the client's doing: it has reset it (CVE-2023-44487), or made us do so
   * (CVE-2025-8671), and what was begun for it was in vain.
   */
  #reset(): void {
    const now = performance.now();
    if (!this.#resets.add(now)) throw tooMuch('streams are reset too often');
    if (this.#addresses?.isTooMuch(this.#address, this.#resets, now) === true) {
      throw tooMuch('streams are reset too often from this address');
    }
  }

  /** A request too many, of a client that has been told how many there may be (RFC 9113 section 5.1.2). */
  refused(): void {
    if (!this.#refusals.add()) throw tooMuch('too many requests at a time');
  }

  /**
   * @param bytes that it has made us write while others waited for it already: acknowledgements, heads, resets
   * @param content the same of content
   */
  leftUnread(bytes: number, content: number): void {
    if (bytes > maximumUnread || content > maximumUnreadContent) throw tooMuch('it reads no answers');
  }
}

function tooMuch(what: string): Error {
  return connectionFault(errorCode.enhanceYourCalm, what);
}
