import type { HeaderLines } from '../fields/header-lines.ts';

/** What each line counts for beside its own bytes (RFC 9113 section 6.5.2). */
const lineOverhead = 32;
/** `:method`, `:path`, `:scheme` with `https`, and `:authority`. */
const pseudoHeaderBytes = 7 + 5 + 7 + 5 + 10 + 4 * lineOverhead;

/**
 * Bytes of the head of a request as SETTINGS_MAX_HEADER_LIST_SIZE counts them (RFC 9113 section 6.5.2), the target with
 * them: it is a line like any other there. Lines that are left out on the way count, too.
 * @param authority host and port of the server
 */
export function headSize(method: string, target: string, authority: string, headers: HeaderLines): number {
  let size = pseudoHeaderBytes + method.length + target.length + authority.length;
  // Byte strings: a character is a byte.
  for (const text of headers) size += text.length;
  return size + (headers.length / 2) * lineOverhead;
}
