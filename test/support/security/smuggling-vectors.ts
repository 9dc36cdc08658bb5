import { targets } from '../routers/router-under-test.ts';

/** Bytes of one hostile request, as a byte string. */
export interface Vector {
  readonly name: string;
  readonly bytes: string;
}

/** Request that every attack here wants to get through: a whole one under a forged identity. */
export const smuggled =
  'GET /apis/batch/v1/namespaces/smuggled/jobs HTTP/1.1\r\nHost: x\r\nX-Remote-User: root\r\nX-Remote-Group: system:masters\r\n\r\n';
export const chunkedSmuggled = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`;

export function post(name: string, lines: readonly string[], body = ''): Vector {
  const head = [`POST ${targets.peer} HTTP/1.1`, 'Host: localhost', ...lines].join('\r\n');
  return { name, bytes: `${head}\r\n\r\n${body}` };
}

const length = `Content-Length: ${smuggled.length}`;

/** Two framings, or one that parsers read differently (RFC 9112 sections 6.1 and 6.3). */
export const framingVectors: readonly Vector[] = [
  post(
    'CL.TE: both Content-Length and Transfer-Encoding',
    ['Content-Length: 0', 'Transfer-Encoding: chunked'],
    chunkedSmuggled,
  ),
  post(
    'TE.CL: Transfer-Encoding first',
    ['Transfer-Encoding: chunked', 'Content-Length: 4'],
    chunkedSmuggled,
  ),
  post('Transfer-Encoding: xchunked', ['Transfer-Encoding: xchunked'], chunkedSmuggled),
  post('Transfer-Encoding: ,chunked', ['Transfer-Encoding: ,chunked'], chunkedSmuggled),
  post('Transfer-Encoding: chunked,', ['Transfer-Encoding: chunked,'], chunkedSmuggled),
  post('Transfer-Encoding: identity', ['Transfer-Encoding: identity'], chunkedSmuggled),
  post('Transfer-Encoding: chunked, identity', ['Transfer-Encoding: chunked, identity'], chunkedSmuggled),
  post(
    'Transfer-Encoding: gzip, chunked, which is not decoded here',
    ['Transfer-Encoding: gzip, chunked'],
    chunkedSmuggled,
  ),
  post('Transfer-Encoding: gzip', ['Transfer-Encoding: gzip'], chunkedSmuggled),
  post(
    'Transfer-Encoding: chunked twice in one line',
    ['Transfer-Encoding: chunked, chunked'],
    chunkedSmuggled,
  ),
  post(
    'Transfer-Encoding on two lines',
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'],
    chunkedSmuggled,
  ),
  post(
    'Transfer-Encoding on two lines, the second unknown',
    ['Transfer-Encoding: chunked', 'Transfer-Encoding: cow'],
    chunkedSmuggled,
  ),
  post(
    'Transfer-Encoding on two lines, the first unknown',
    ['Transfer-Encoding: cow', 'Transfer-Encoding: chunked'],
    chunkedSmuggled,
  ),
  post('Transfer-Encoding: "chunked"', ['Transfer-Encoding: "chunked"'], chunkedSmuggled),
  post('Transfer-Encoding: chunked;q=1', ['Transfer-Encoding: chunked;q=1'], chunkedSmuggled),
  post('an empty Transfer-Encoding', ['Transfer-Encoding:'], chunkedSmuggled),
  post('an empty Transfer-Encoding beside a Content-Length', ['Transfer-Encoding:', length], smuggled),
  post('a vertical tab before chunked', ['Transfer-Encoding: \vchunked'], chunkedSmuggled),
  post('a blank before the colon of Transfer-Encoding', ['Transfer-Encoding : chunked'], chunkedSmuggled),
  post('a tab before the colon of Content-Length', [`Content-Length\t: ${smuggled.length}`], smuggled),
  post('a blank before the name', [' Transfer-Encoding: chunked'], chunkedSmuggled),
  post('two equal Content-Length lines', [length, length], smuggled),
  post('two different Content-Length lines', ['Content-Length: 0', length], smuggled),
  post('a list in Content-Length', [`Content-Length: ${smuggled.length}, ${smuggled.length}`], smuggled),
  post('an empty Content-Length', ['Content-Length:'], smuggled),
  post('a signed Content-Length', [`Content-Length: +${smuggled.length}`], smuggled),
  post('a negative Content-Length', ['Content-Length: -1'], smuggled),
  post('a hexadecimal Content-Length', ['Content-Length: 0x10'], smuggled),
  post('a Content-Length with a blank in it', ['Content-Length: 1 0'], smuggled),
  post('a Content-Length with an underscore', ['Content-Length: 1_0'], smuggled),
  post('a Content-Length beyond 64 bits', ['Content-Length: 18446744073709551617'], smuggled),
  {
    name: 'Transfer-Encoding in HTTP/1.0',
    bytes: `POST ${targets.peer} HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedSmuggled}`,
  },
];

function chunked(name: string, body: string): Vector {
  return post(name, ['Transfer-Encoding: chunked'], body);
}

/** Faults of a chunked body, which show when the head has been read already (RFC 9112 section 7.1). */
export const chunkVectors: readonly Vector[] = [
  chunked('a chunk size with 0x', `0x5\r\nhello\r\n0\r\n\r\n${smuggled}`),
  chunked('a chunk size with a sign', `+5\r\nhello\r\n0\r\n\r\n${smuggled}`),
  chunked('a negative chunk size', `-5\r\nhello\r\n0\r\n\r\n${smuggled}`),
  chunked('a chunk size beyond 64 bits', `10000000000000005\r\nhello\r\n0\r\n\r\n${smuggled}`),
  chunked('an empty chunk size', `\r\nhello\r\n0\r\n\r\n${smuggled}`),
  chunked('a chunk size with an underscore', `0_5\r\nhello\r\n0\r\n\r\n${smuggled}`),
  chunked('a blank behind the chunk size', `5 \r\nhello\r\n0\r\n\r\n${smuggled}`),
  chunked('a blank before the chunk size', ` 5\r\nhello\r\n0\r\n\r\n${smuggled}`),
  chunked('no CRLF behind the chunk', `5\r\nhello0\r\n\r\n${smuggled}`),
  chunked('bare LF behind the chunk size', `5\nhello\r\n0\r\n\r\n${smuggled}`),
  chunked('bare LF behind the chunk', `5\r\nhello\n0\r\n\r\n${smuggled}`),
  chunked('bare CR behind the chunk size', `5\rhello\r\n0\r\n\r\n${smuggled}`),
  chunked('a bare LF in a chunk extension (TERM.EXT)', `5;a\nhello\r\n0\r\n\r\n${smuggled}`),
  chunked('a bare CR in a chunk extension', `5;a\rb\r\nhello\r\n0\r\n\r\n${smuggled}`),
  chunked('a folded trailer', `5\r\nhello\r\n0\r\nX-Test: a\r\n b\r\n\r\n${smuggled}`),
  chunked('a bare LF in a trailer', `5\r\nhello\r\n0\r\nX-Test: a\nX-Remote-User: root\r\n\r\n${smuggled}`),
];
