import { errorCode } from '../http2/frame.ts';
import { connectionFault } from '../http2/http2-error.ts';
import { LeakyBucket } from '../http2/leaky-bucket.ts';

/** Resets of a client's own, and those that its faults bring about: nghttp2's `stream_reset_rate_limit`. */
const resets = { burst: 1_000, perSecond: 33 };
/** Of frames that ask for nothing useful: far more than any client needs for its pings. */
const idleFrames = { burst: 10_000, perSecond: 1_000 };
/** Bytes that wait for a client that makes us answer, and reads none of it (CVE-2019-9512, CVE-2019-9515). */
const maximumUnread = 1024 * 1024;
/** Bytes of content: more than all of its streams can bring in one piece each, which they do before they are held. */
const maximumUnreadContent = 16 * 1024 * 1024;

/** What one client may do before its connection ends with ENHANCE_YOUR_CALM. Methods throw {Http2Error} then. */
export class ClientConduct {
  readonly #resets = new LeakyBucket(resets);
  readonly #idleFrames = new LeakyBucket(idleFrames);
  readonly #refusals: LeakyBucket;

  /** @param maximumRefused requests beyond the limit of streams, at once; one more is forgotten each second */
  constructor(maximumRefused: number) {
    this.#refusals = new LeakyBucket({ burst: maximumRefused, perSecond: 1 });
  }

  /**
   * A stream ended before its time by the client's doing: it has reset it (CVE-2023-44487), or made us do so
   * (CVE-2025-8671), and what was begun for it was in vain.
   */
  reset(): void {
    if (!this.#resets.add()) throw tooMuch('streams are reset too often');
  }

  /**
   * A frame that asks for nothing useful: PING, SETTINGS, PRIORITY, DATA that is empty and not the last (CVE-2019-9518),
   * anything on a stream that is over;
   * content in scraps that nobody has got to read yet.
   */
  idleFrame(): void {
    if (!this.#idleFrames.add()) throw tooMuch('too many frames that ask for nothing');
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
