import type { RawHeaders } from '../../apimachinery/raw-headers.ts';

/** Characters of `uri-host [ ":" port ]` (RFC 9110 section 7.2, RFC 3986 section 3.2.2). */
const hostCharacters = /^[\w.~!$&'()*+,;=:[\]%-]*$/;

const noHost = 'there must be one Host line, and nothing in it but a host and a port';

/**
 * Why the head of an HTTP/1 request is refused although Node's parser took it; `undefined` when it is not. Each of
 * these is read differently by some server or proxy, which is what request smuggling is made of.
 */
export function faultOfHead(httpVersion: string, headers: RawHeaders): string | undefined {
  // A request line without a version makes it HTTP/0.9, and any digit passes for one.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'the version must be HTTP/1.1 or HTTP/1.0';
  let hosts = 0;
  let codings = 0;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') {
      hosts++;
      // RFC 9112 section 3.2 has a server refuse both, and a request without any.
      if (hosts > 1 || !hostCharacters.test(headers[index + 1] as string)) {
        return noHost;
      }
    } else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      codings++;
      // Section 6.1: faulty in HTTP/1.0. Other codings would have to be decoded here, since only the framing of
      // the next connection is chunked; lists and repetitions are how parsers are set against each other.
      if (
        codings > 1 ||
        httpVersion === '1.0' ||
        (headers[index + 1] as string).toLowerCase() !== 'chunked'
      ) {
        return 'the only Transfer-Encoding that is taken is chunked, once, in HTTP/1.1';
      }
    }
  }
  return hosts === 0 && httpVersion === '1.1' ? noHost : undefined;
}
