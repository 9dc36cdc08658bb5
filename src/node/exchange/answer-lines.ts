import type { RawHeaders } from '../../apimachinery/raw-headers.ts';

/** What follows the head of these is no content of theirs (RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5). */
export function hasContent(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

/**
 * A 204 must not name a length (RFC 9110 section 8.6), and a 205 has none to name; a client on HTTP/2 would take
 * an answer that falls short of its length for broken (RFC 9113 section 8.1.1). A 304 names that of another answer.
 */
export function answerLines(status: number, headers: RawHeaders): RawHeaders {
  if (status !== 204 && status !== 205) return headers;
  const lines: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    if (name.toLowerCase() !== 'content-length') lines.push(name, headers[index + 1] as string);
  }
  return lines;
}

/** Clients have to ignore it (RFC 9112 section 4); Node refuses to write one with characters beyond Latin-1. */
export function reasonPhrase(text: string): string {
  return /^[\x20-\x7e\t]*$/.test(text) ? text : '';
}
