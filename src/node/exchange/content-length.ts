import { firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';

/** The bytes that `Content-Length` announces (RFC 9110 section 8.6); `undefined` without a plain number of them. */
export function contentLength(headers: RawHeaders): number | undefined {
  const value = firstHeader(headers, 'content-length');
  return value === undefined || !/^\d+$/.test(value) ? undefined : Number(value);
}
