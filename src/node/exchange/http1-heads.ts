import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { linesForLogs } from '../../../packages/http2/shared.ts';
import { type RawHeaders, rawHeadersOf } from '../../apimachinery/raw-headers.ts';
import { isUriHost } from '../../apimachinery/request-target.ts';

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

const absoluteForm = /^https?:\/\/([^/?#]+)(.*)$/is;

/**
 * Gives a request whose target is in absolute-form its origin-form. A server must accept both, and the host of the target counts,
 * whatever the Host line says (RFC 9112 section 3.2.2). Neither says where the request goes.
 */
export function takeAbsoluteForm(message: IncomingMessage): void {
  const { url = '' } = message;
  if (url.startsWith('/')) return;
  const [, authority = '', rest = ''] = absoluteForm.exec(url) ?? [];
  // User information is no part of it (RFC 9110 section 4.2.4): such a target stays as it is, and is refused.
  if (authority === '' || !isUriHost(authority)) return;
  message.url = rest.startsWith('/') ? rest : `/${rest}`;
  const lines = message.rawHeaders;
  const host = lines.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  if (host === -1) lines.push('Host', authority);
  else lines[host + 1] = authority;
}

/** Time for a client to read the last response before its connection ends. */
const lingerMilliseconds = 1_000;

export function responseHead(status: number, statusMessage: string, headers: RawHeaders): Buffer {
  let head = `HTTP/1.1 ${status} ${statusMessage}\r\n`;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    head += `${headers[index]}: ${headers[index + 1]}\r\n`;
  }
  return Buffer.from(`${head}\r\n`, 'latin1');
}

/**
 * Drops the lines of a head but the one by which clients are told apart in logs, everywhere they are known: a watch or a tunnel
 * may last for hours.
 */
export function forgetHead(message: IncomingMessage): void {
  const lines = message.rawHeaders;
  lines.splice(0, lines.length, ...linesForLogs(lines));
  message.headers = {};
}

export async function writeLastResponse(socket: Duplex, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  const headers = new Headers(response.headers);
  headers.set('content-length', String(body.length));
  headers.set('connection', 'close');
  socket.write(responseHead(response.status, STATUS_CODES[response.status] ?? '', rawHeadersOf(headers)));
  socket.write(body);
  endAfterResponse(socket);
}

/**
 * Ends a connection after its last response. What the client still sends is read and discarded for a moment: a socket
 * that is closed with unread data sends a TCP reset, on which the client loses the response.
 */
export function endAfterResponse(socket: Duplex): void {
  socket.end();
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), lingerMilliseconds);
  socket.once('close', () => clearTimeout(timer));
}
