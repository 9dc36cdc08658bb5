import { LeakyBucket, type Tolerance } from '../frames/leaky-bucket.ts';

/** Resets allowed from one address, over all of its connections: what ten connections may do. */
export const addressTolerance: Tolerance = { burst: 2_000, perSecond: 330 };
/**
 * Resets that one connection may cause after its address has had too many. Fewer cost less than the handshake before
 * them, so reconnecting gains nothing. Behind a load balancer all clients share one address: a client that resets few
 * streams is not punished for the others.
 */
export const resetsInCrowd = 10;
/** Addresses that are remembered, at most. */
const remembered = 4_096;

/**
 * Counts stream resets by client address, so that a new connection does not start with an empty budget
 * (CVE-2023-44487). Only resets count: a thousand connections that reset nothing add nothing.
 */
export class AddressResets {
  /** Ordered by the last reset, the most recent last. */
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
    if (this.#buckets.size > remembered) this.#forgetOldest();
    return !bucket.add(now) && own.levelAt(now) > resetsInCrowd;
  }

  get size(): number {
    return this.#buckets.size;
  }

  #forgetOldest(): void {
    for (const oldest of this.#buckets.keys()) {
      this.#buckets.delete(oldest);
      return;
    }
  }
}

/** The IPv4 address, or the /64 network of an IPv6 address: a client can use every address of its /64. */
function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [front = '', back] = address.split('::', 2);
  const first = front.split(':');
  const last = back?.split(':') ?? [];
  const zeros = back === undefined ? 0 : 8 - first.length - last.length;
  return [...first, ...Array.from({ length: zeros }, () => '0'), ...last].slice(0, 4).join(':');
}
