import type { RawHeaders } from '../../apimachinery/raw-headers.ts';

/** Characters of `uri-host [ ":" port ]` (RFC 9110 section 7.2, RFC 3986 section 3.2.2). */
const hostCharacters = /^[\w.~!$&'()*+,;=:[\]%-]*$/;

/** Characters of all `Connection` lines: each entry names a line that is looked for and left out. */
const maximumConnectionLines = 8 * 1024;

const hostIssue = 'it must have exactly one Host line, with a host and an optional port';

/**
 * Why an HTTP/1 request head is refused although Node's parser accepts it; `undefined` if it is valid. Some server or
 * proxy reads each of these differently, which allows request smuggling.
 */
export function issueOfHead(httpVersion: string, headers: RawHeaders): string | undefined {
  // Node accepts HTTP/0.9 (no version) and any digit as a version.
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return 'the version must be HTTP/1.1 or HTTP/1.0';
  let hosts = 0;
  let codings = 0;
  let connectionLines = 0;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') {
      hosts++;
      // RFC 9112 section 3.2: a server must refuse several Host lines, an invalid one, and a request without Host.
      if (hosts > 1 || !hostCharacters.test(headers[index + 1] as string)) {
        return hostIssue;
      }
    } else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      codings++;
      // Section 6.1: invalid in HTTP/1.0. Other codings would have to be decoded here, because only `chunked` is framing.
      // Parsers disagree about lists and repetitions.
      if (
        codings > 1 ||
        httpVersion === '1.0' ||
        (headers[index + 1] as string).toLowerCase() !== 'chunked'
      ) {
        return 'the only Transfer-Encoding allowed is chunked, once, in HTTP/1.1';
      }
    } else if (name.length === 10 && name.toLowerCase() === 'connection') {
      connectionLines += (headers[index + 1] as string).length;
      if (connectionLines > maximumConnectionLines) return 'its Connection lines are too long';
    }
  }
  return hosts === 0 && httpVersion === '1.1' ? hostIssue : undefined;
}
