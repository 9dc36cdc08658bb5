import { type OutboundRequest, TransportError } from '../proxy/transport.ts';

/**
 * Bytes of a head up to which a request shares an HTTP/2 connection. To a Node server one line of 66,000 bytes is too
 * much (measured; of 65,500 it is not), and it says so with a connection error (RFC 9113 section 4.3), with which every
 * other caller's stream ends.
 */
export const maximumSharedHead = 64 * 1024;

/** What each line counts for beside its own bytes (RFC 9113 section 6.5.2). */
const lineOverhead = 32;
/** `:method`, `:path`, `:scheme` with `https`, and `:authority`. */
const pseudoHeaderBytes = 7 + 5 + 7 + 5 + 10 + 4 * lineOverhead;

/**
 * Bytes of a request's head as SETTINGS_MAX_HEADER_LIST_SIZE counts them (RFC 9113 section 6.5.2), the target with
 * them: it is a line like any other there. Lines that are left out on the way count, too.
 */
export function headSize({ method, target, destination, headers }: OutboundRequest): number {
  let size = pseudoHeaderBytes + method.length + target.length + destination.origin.length;
  // Byte strings: a character is a byte.
  for (const text of headers) size += text.length;
  return size + (headers.length / 2) * lineOverhead;
}

/** @param refused the destination got the head, and would not have it. */
export function headTooLarge(origin: string, size: number, refused = false, cause?: unknown): TransportError {
  const message = `${origin}: a request head of ${size} bytes is more than this server takes`;
  return new TransportError('RequestHeaderFieldsTooLarge', message, {
    requestMayHaveArrived: refused,
    cause,
  });
}
