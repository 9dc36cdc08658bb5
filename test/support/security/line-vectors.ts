import { targets } from './router-under-test.ts';
import { chunkedSmuggled, post, smuggled, type Vector } from './smuggling-vectors.ts';

function get(name: string, bytesAfterMethod: string): Vector {
  return { name, bytes: `GET ${bytesAfterMethod}` };
}

/** Bytes that end a line, a name or a value for some parsers (RFC 9112 sections 2.2 and 5). */
export const lineVectors: readonly Vector[] = [
  post(
    'obs-fold: a folded Transfer-Encoding (CVE-2024-27982)',
    ['Transfer-Encoding:\r\n chunked'],
    chunkedSmuggled,
  ),
  post('obs-fold: a folded Content-Length', ['Content-Length:\r\n\t5'], smuggled),
  post('obs-fold: a folded ordinary line', ['X-Test: a\r\n b']),
  post('bare LF behind a line', [`X-Test: a\nTransfer-Encoding: chunked`], chunkedSmuggled),
  { name: 'bare LF behind the request line', bytes: `GET ${targets.peer} HTTP/1.1\nHost: localhost\r\n\r\n` },
  { name: 'bare LF all through', bytes: `GET ${targets.peer} HTTP/1.1\nHost: localhost\n\n` },
  { name: 'bare LF at the end of the head', bytes: `GET ${targets.peer} HTTP/1.1\r\nHost: localhost\r\n\n` },
  post('bare CR in a value', [`X-Test: a\rTransfer-Encoding: chunked`], chunkedSmuggled),
  post('bare CR in a name', ['X\r-Test: a']),
  {
    name: 'CR CR LF at the end of a line',
    bytes: `GET ${targets.peer} HTTP/1.1\r\r\nHost: localhost\r\n\r\n`,
  },
  post('NUL in a value', ['X-Test: a\0b']),
  post('NUL in a name', ['X\0Test: a']),
  post('a control character in a value', ['X-Test: a\x01b']),
  post('DEL in a value', ['X-Test: a\x7fb']),
  post('a line without a colon', ['Transfer-Encoding chunked'], chunkedSmuggled),
  post('a line without a name', [': a']),
  post('a name with a blank in it', ['X Test: a']),
  post('a name outside ASCII', ['X-T\xe9st: a']),
  post('a name with a slash', ['X/Test: a']),
  post('a name in parentheses', ['(X-Test): a']),
];

/** The request line (RFC 9112 section 3). */
export const requestLineVectors: readonly Vector[] = [
  get(
    'absolute-form, which names another server',
    `https://evil.example${targets.peer} HTTP/1.1\r\nHost: evil.example\r\n\r\n`,
  ),
  get(
    'absolute-form that names this server',
    `https://localhost${targets.peer} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  ),
  get(
    'absolute-form with user information',
    `https://a@evil.example${targets.peer} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  ),
  get('a target that begins with @', `@evil.example${targets.peer} HTTP/1.1\r\nHost: localhost\r\n\r\n`),
  get('a blank in the target', `/apis/batch/v1 /jobs HTTP/1.1\r\nHost: localhost\r\n\r\n`),
  get('a tab for the first blank', `\t${targets.peer} HTTP/1.1\r\nHost: localhost\r\n\r\n`),
  get('a control character in the target', `${targets.peer}\x01 HTTP/1.1\r\nHost: localhost\r\n\r\n`),
  get('NUL in the target', `${targets.peer}\0 HTTP/1.1\r\nHost: localhost\r\n\r\n`),
  get(
    'raw bytes outside ASCII in the target',
    `${targets.peer}/\xc3\xa9 HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  ),
  get('a fragment', `${targets.peer}#/../../api HTTP/1.1\r\nHost: localhost\r\n\r\n`),
  get('HTTP/0.9: no version', `${targets.peer}\r\nHost: localhost\r\n\r\n`),
  get('HTTP/1.2', `${targets.peer} HTTP/1.2\r\nHost: localhost\r\n\r\n`),
  get('HTTP/2.0 in clear', `${targets.peer} HTTP/2.0\r\nHost: localhost\r\n\r\n`),
  get('http in lower case', `${targets.peer} http/1.1\r\nHost: localhost\r\n\r\n`),
  get('something behind the version', `${targets.peer} HTTP/1.1 HTTP/1.1\r\nHost: localhost\r\n\r\n`),
  get('no Host', `${targets.peer} HTTP/1.1\r\n\r\n`),
  get('two Host lines', `${targets.peer} HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n`),
  get('a Host that is no host', `${targets.peer} HTTP/1.1\r\nHost: localhost/evil?x@y\r\n\r\n`),
  { name: 'CONNECT', bytes: 'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n' },
  { name: 'an unknown method', bytes: `GETT ${targets.peer} HTTP/1.1\r\nHost: localhost\r\n\r\n` },
  { name: 'a method in lower case', bytes: `get ${targets.peer} HTTP/1.1\r\nHost: localhost\r\n\r\n` },
  { name: 'the preface of HTTP/2 on HTTP/1.1', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
];
