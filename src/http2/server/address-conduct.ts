import { LeakyBucket, type Tolerance } from '../frames/leaky-bucket.ts';

/** Resets of all connections from one address: those of ten connections that do what they may. */
export const addressTolerance: Tolerance = { burst: 2_000, perSecond: 330 };
/**
 * Resets that one connection may have behind it while its address has had too many. Fewer cost less than the handshake
 * that came before them, so that connecting anew gains nothing; and behind a load balancer, where all clients have one
 * address, whoever resets a stream now and then is not held to what others do.
 */
export const resetsInCrowd = 10;
/** Addresses that are remembered. */
const remembered = 4_096;

/**
 * Resets by the address that they come from, so that nobody begins again from nothing with each new connection
 * (CVE-2023-44487). Counts what was done, not who is there: a thousand connections that reset nothing are nothing.
 */
export class AddressConduct {
  /** Those that reset something last stand last. */
  readonly #buckets = new Map<string, LeakyBucket>();

  /**
   * A connection has reset a stream.
   * @param own what it has reset itself @param now milliseconds of a monotonic clock
   * @returns whether the connection is to end
   */
  isTooMuch(address: string, own: LeakyBucket, now: number): boolean {
    const network = networkOf(address);
    const bucket = this.#buckets.get(network) ?? new LeakyBucket(addressTolerance);
    this.#buckets.delete(network);
    this.#buckets.set(network, bucket);
    if (this.#buckets.size > remembered) this.#forgetOne();
    return !bucket.add(now) && own.levelAt(now) > resetsInCrowd;
  }

  /** Addresses that are remembered. */
  get size(): number {
    return this.#buckets.size;
  }

  #forgetOne(): void {
    for (const oldest of this.#buckets.keys()) {
      this.#buckets.delete(oldest);
      return;
    }
  }
}

/** An IPv4 address, or the 64 bits that one IPv6 network has: whoever has one address there has all of them. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [front = '', back] = address.split('::', 2);
  const first = front.split(':');
  const last = back?.split(':') ?? [];
  const zeros = back === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array.from({ length: zeros }, () => '0'), ...last].slice(0, 4).join(':');
}
