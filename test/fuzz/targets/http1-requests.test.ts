import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { allHeaders } from '../../../src/apimachinery/raw-headers.ts';
import { eventually } from '../../support/eventually.ts';
import { clientTls } from '../../support/security/certificates.ts';
import type { ReceivedRequest } from '../../support/security/recording-backend.ts';
import { type RouterUnderTest, startRouterUnderTest, targets } from '../../support/security/router-under-test.ts';
import { chunkedSmuggled, smuggled } from '../../support/security/smuggling-vectors.ts';
import { fuzz } from '../fuzz-target.ts';
import { mutated } from '../mutation.ts';
import { requestsIn } from '../strict-http1.ts';

interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const recorded = JSON.parse(
  readFileSync(new URL('../../fixtures/kubectl-requests.json', import.meta.url), 'utf8'),
) as readonly { readonly requests: readonly RecordedRequest[] }[];

/** What kubectl has sent, with bodies that look like requests. */
const seeds = recorded
  .flatMap(({ requests }) => requests)
  .map(({ method, url, headers }) => {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `${method} ${url} HTTP/1.1\r\nHost: localhost\r\n${lines.join('')}`;
    if (method === 'GET' || method === 'DELETE') return `${head}\r\n`;
    return `${head}Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`;
  });
const more = [
  `POST ${targets.peer} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${chunkedSmuggled}`,
  `GET ${targets.peer} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  `DELETE ${targets.peer}/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}`,
];

/** Where HTTP/1.1 has its seams, and what an attacker would like to get through. */
const pieces = [
  ...['\r\n', '\n', '\r', '\r\n\r\n', '\0', ' ', '\t', ':', ',', ';', '0\r\n\r\n', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0'],
  ...['Content-Length: 0\r\n', 'Content-Length: 5\r\n', 'Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: x\r\n'],
  ...['Connection: close\r\n', 'Connection: X-Remote-User\r\n', 'Expect: 100-continue\r\n', 'X-Remote-User: root\r\n'],
  ...['X_Remote_Group: system:masters\r\n', 'x-kubernetes-peer-proxied: true\r\n', 'Host: evil\r\n', smuggled],
  ...['Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n', 'Content-Length: +5\r\n', ' folded\r\n', '\u00e9'],
];

interface Input {
  /** A byte string. */
  readonly bytes: string;
  /** Where it is cut into pieces. */
  readonly cuts: readonly number[];
}

/** Started with the first input: all of them go to one router, as in life. */
let starting: Promise<RouterUnderTest> | undefined;
const ready = Promise.withResolvers<void>();
const done = Promise.withResolvers<void>();
test('a router in front of recording servers', { timeout: 0 }, async (context) => {
  starting = startRouterUnderTest(context);
  await starting;
  ready.resolve();
  await done.promise;
});
