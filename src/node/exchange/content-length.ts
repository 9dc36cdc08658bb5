import { firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';

/** The `Content-Length` in bytes (RFC 9110 section 8.6); `undefined` if there is none or it is no plain number. */
export function contentLength(headers: RawHeaders): number | undefined {
  const value = firstHeader(headers, 'content-length');
  return value === undefined || !/^\d+$/.test(value) ? undefined : Number(value);
}
