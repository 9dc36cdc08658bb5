import { allHeaders, type RawHeaders } from '../apimachinery/raw-headers.ts';
import { hexOf } from '../runtime/hex.ts';

/**
 * Gateways must write it (RFC 9110 section 7.6.3). Here it is also what ends loops: the reroute mark counts
 * from verified peers only, and a request whose token this router could not check is not forwarded as a peer's.
 */
export const viaHeader = 'Via';

/** A name for one router instance that no other has and that tells nothing about it (section 7.6.3). */
export function newPseudonym(): string {
  return `mixed-version-proxy-${hexOf(crypto.getRandomValues(new Uint8Array(8)))}`;
}

/**
 * Whether a request has been through the router of that name already. A client that forges the name is only
 * refused: routing never depends on it.
 */
export function hasPassedThrough(headers: RawHeaders, pseudonym: string): boolean {
  // Searched first: a long line of others costs nothing then.
  return allHeaders(headers, viaHeader).some(
    (value) => value.includes(pseudonym) && value.split(/[\s,]+/).includes(pseudonym),
  );
}

/** The member that a router adds to the list. @param protocol version the request was received in: `1.1`, `2.0`. */
export function viaMember(protocol: string, pseudonym: string): string {
  return `${protocol} ${pseudonym}`;
}
