import type { RawHeaders } from '../../apimachinery/raw-headers.ts';

/** Whether responses of this status have content (RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5). */
export function hasContent(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

/**
 * Removes the Content-Length of a 204 (RFC 9110 section 8.6) or a 205. To an HTTP/2 client content that is shorter than
 * its Content-Length is an error (RFC 9113 section 8.1.1). A 304 may have that of the 200.
 */
export function withoutForbiddenLength(status: number, headers: RawHeaders): RawHeaders {
  if (status !== 204 && status !== 205) return headers;
  const lines: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    if (name.toLowerCase() !== 'content-length') lines.push(name, headers[index + 1] as string);
  }
  return lines;
}

/** The reason phrase, which clients ignore (RFC 9112 section 4). Node refuses characters beyond Latin-1. */
export function reasonPhrase(text: string): string {
  return /^[\x20-\x7e\t]*$/.test(text) ? text : '';
}
