import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { connect } from 'node:tls';
import fc from 'fast-check';
import { mutated } from '../../../packages/http2/test/fuzz/mutation.ts';
import { allHeaders } from '../../../src/apimachinery/raw-headers.ts';
import type { ReceivedRequest } from '../../support/api-servers/api-server-double.ts';
import { eventually } from '../../support/eventually.ts';
import {
  type RouterUnderTest,
  startRouterUnderTest,
  targets,
} from '../../support/routers/router-under-test.ts';
import { clientTls } from '../../support/security/certificates.ts';
import { chunkedSmuggled, smuggled } from '../../support/security/smuggling-vectors.ts';
import { fuzz } from '../fuzz-target.ts';
import { readingsOf, type StrictRequest } from '../strict-http1.ts';

interface RecordedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const recorded = JSON.parse(
  readFileSync(new URL('../../fixtures/kubectl-requests.json', import.meta.url), 'utf8'),
) as readonly { readonly requests: readonly RecordedRequest[] }[];

/** Requests that kubectl has sent, with bodies that look like requests. */
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
  `GET ${targets.peer}/b HTTP/1.1\r\nHost: localhost\r\nConnection: x, X-Private\r\nX-Private: 1\r\n\r\n`,
  `DELETE ${targets.peer}/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}`,
];

/** Where HTTP/1.1 has its seams, and what an attacker would like to get through. */
const pieces = [
  ...[
    '\r\n',
    '\n',
    '\r',
    '\r\n\r\n',
    '\0',
    ' ',
    '\t',
    ':',
    ',',
    ';',
    '0\r\n\r\n',
    'HTTP/1.1',
    'HTTP/1.0',
    'HTTP/2.0',
  ],
  ...[
    'Content-Length: 0\r\n',
    'Content-Length: 5\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding: x\r\n',
  ],
  ...[
    'Connection: close\r\n',
    'Connection: X-Remote-User\r\n',
    'Connection: X-PRIVATE\r\n',
    'Expect: 100-continue\r\n',
    'X-Remote-User: root\r\n',
  ],
  ...[
    'X_Remote_Group: system:masters\r\n',
    'x-kubernetes-peer-proxied: true\r\n',
    'Host: evil\r\n',
    smuggled,
  ],
  ...['Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n', 'Content-Length: +5\r\n', ' folded\r\n', '\u00e9'],
];

/** The first one `weight` times as often as one of the others. */
const mostly = (weight: number, first: string, ...others: readonly string[]): fc.Arbitrary<string> =>
  fc.oneof({ weight, arbitrary: fc.constant(first) }, fc.constantFrom(...others));

/** `LENGTH` is that of the body, `LONGER` some more. */
const framingLines = [
  ...['Content-Length: LENGTH', 'content-length:LENGTH ', 'Content-Length: 0', 'Content-Length: LONGER'],
  ...[
    'Content-Length: LENGTH, LENGTH',
    'Content-Length: +LENGTH',
    'Content-Length: 0LENGTH',
    'Content-Length:',
  ],
  ...['Transfer-Encoding: chunked', 'transfer-encoding:CHUNKED\t', 'Transfer-Encoding: gzip, chunked'],
  ...[
    'Transfer-Encoding: chunked, gzip',
    'Transfer-Encoding: identity, chunked',
    'Transfer-Encoding: ,chunked',
  ],
  ...['Transfer-Encoding: chunked;q=1', 'Transfer-Encoding: xchunked', 'Transfer-Encoding: identity'],
  ...['Transfer-Encoding:', 'Transfer-Encoding : chunked', 'Transfer_Encoding: chunked', 'TE: chunked'],
];
const bodies = [
  ...['', '{}', smuggled, chunkedSmuggled, '0\r\n\r\n', '5;a=b\r\nhello\r\n0\r\nTrailer: x\r\n\r\n'],
  ...[
    '5\r\nhello\r\n00\r\n\r\n',
    '5\r\nhelloo\r\n0\r\n\r\n',
    '5\nhello\r\n0\r\n\r\n',
    '0x5\r\nhello\r\n0\r\n\r\n',
  ],
];

/** The lines that decide how long a request is and whose it is, in every combination. */
const framed = fc
  .record({
    method: fc.constantFrom('GET', 'POST', 'POST', 'PUT', 'DELETE', 'OPTIONS'),
    target: fc.constantFrom(
      ...[targets.peer, targets.local, `${targets.peer}/a`, `https://other:6443${targets.peer}`],
      ...[`HTTP://[::1]${targets.local}`, `https://root@other${targets.peer}`, `ftp://other${targets.peer}`],
    ),
    version: mostly(2, 'HTTP/1.1', 'HTTP/1.0', 'HTTP/1.0', 'HTTP/1.0', 'HTTP/1.2', 'HTTP/2.0', 'http/1.1'),
    host: mostly(
      9,
      'Host: localhost',
      'Host: [::1]:6443',
      'Host:',
      'Host: a b',
      'Host: a/b',
      'Host: u@a',
      ...['X-A: b', 'X-A: b', 'X-A: b'],
    ),
    framing: fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom(...framingLines).map((line) => [line]) },
      fc.array(mostly(1, 'Transfer-Encoding: chunked', ...framingLines), { maxLength: 2 }),
    ),
    others: fc.array(
      fc.constantFrom(
        'Host: localhost',
        'HOST: evil',
        'X-Remote-User: root',
        'Connection: close',
        'Expect: x',
      ),
      { maxLength: 1 },
    ),
    body: fc.constantFrom(...bodies),
    order: fc.array(fc.nat({ max: 3 }), { maxLength: 3 }),
  })
  .map(({ method, target, version, host, framing, others, body, order }) => {
    const lines = [host];
    for (const [index, line] of [...framing, ...others].entries()) lines.splice(order[index] ?? 9, 0, line);
    const head = [`${method} ${target} ${version}`, ...lines].join('\r\n');
    const sized = head.replaceAll('LENGTH', `${body.length}`).replaceAll('LONGER', `${body.length + 9}`);
    return `${sized}\r\n\r\n${body}`;
  });

/** Responses to a request that must not be taken; of some the router says more closely what it does not do. */
const refusals: ReadonlySet<number> = new Set([400, 417, 431, 501, 505]);

interface Input {
  /** A byte string. */
  readonly bytes: string;
  /** Where it is cut into pieces. */
  readonly cuts: readonly number[];
}

interface Setting {
  readonly router: RouterUnderTest;
  /** Requests of the input before that had not arrived by its end: they may still be on their way. */
  late: readonly StrictRequest[];
}

/** One for all inputs of a test: as in life, what one of them leaves behind would meet the next one. */
const settings = new WeakMap<TestContext, Promise<Setting>>();

function settingOf(context: TestContext): Promise<Setting> {
  const setting = settings.get(context) ?? startSetting(context);
  settings.set(context, setting);
  return setting;
}

async function startSetting(context: TestContext): Promise<Setting> {
  const router = await startRouterUnderTest(context);
  // A watch ends as well: what was sent behind it on its connection waits for that.
  for (const server of [router.local, router.peer, router.stranger])
    server.answer = (answer) => answer.end('{}');
  return { router, late: [] };
}

/** Writes the bytes as one client, and waits until nothing more can come. @returns all that came */
async function exchange(port: number, { bytes, cuts }: Input, expected: number): Promise<string> {
  const socket = connect({
    ...{ host: '127.0.0.1', port, servername: 'localhost', ALPNProtocols: ['http/1.1'] },
    ...clientTls('alice'),
  });
  let received = '';
  let ended = false;
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString('latin1');
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    ended = true;
  });
  await once(socket, 'secureConnect');
  const ends = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted(
    (left, right) => left - right,
  );
  let from = 0;
  for (const end of [...ends, bytes.length]) {
    if (socket.writable) socket.write(Buffer.from(bytes.slice(from, end), 'latin1'));
    from = end;
    // A packet of its own.
    await new Promise((resolve) => setImmediate(resolve));
  }
  const isTunnel = (): boolean =>
    received.startsWith('HTTP/1.1 101 ') || received.includes('\r\n\r\nHTTP/1.1 101 ');
  await eventually(() => ended || isTunnel() || statusesIn(received).length >= expected);
  socket.end();
  await eventually(() => ended);
  return received;
}

function statusesIn(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)]
    .map(([, code]) => Number(code))
    .filter((code) => code >= 200);
}

const nameOf = ({ method, target }: { readonly method: string; readonly target: string }): string =>
  `${method} ${target}`;

/** Absolute-form says no more than origin-form does here; with user information it is none (RFC 9112 section 3.2.2). */
const originForm = (target: string): string => target.replace(/^https?:\/\/[\w.:[\]-]+(?=\/)/i, '');

/** A body that broke off must not look whole, nor be another one. */
function mayBe(arrived: ReceivedRequest, sent: StrictRequest): boolean {
  if (nameOf(arrived) !== nameOf({ ...sent, target: originForm(sent.target) })) return false;
  // RFC 9110 section 7.6.1.
  if (sent.nominated.has('x-private') && allHeaders(arrived.headers, 'x-private').length > 0) return false;
  return !arrived.complete || (sent.complete && arrived.body === sent.body);
}

/** The connection is Alice's, whoever the bytes name. */
function assertIsAlice({ headers, clientCertificate }: ReceivedRequest): void {
  assert.deepEqual(allHeaders(headers, 'x-remote-user'), ['alice']);
  assert.deepEqual(allHeaders(headers, 'x-remote-group'), ['dev', 'system:authenticated']);
  assert.equal(clientCertificate, 'front-proxy-client');
}

fuzz<Input>({
  name: 'http1-requests',
  runs: 150,
  arbitrary: fc.record({
    bytes: fc
      .array(fc.oneof(framed, mutated(fc.oneof(framed, fc.constantFrom(...seeds, ...more)), pieces)), {
        minLength: 1,
        maxLength: 3,
      })
      .map((requests) => requests.join('')),
    cuts: fc.array(fc.nat({ max: 10_000 }), { maxLength: 4 }),
  }),
  async holds(input, context) {
    const setting = await settingOf(context);
    const { router } = setting;
    for (const backend of [router.local, router.peer, router.stranger]) backend.clear();
    const linesBefore = router.logLines.length;
    const { requests: sent, isRefused } = readingsOf(input.bytes);
    const whole = sent.filter(({ complete }) => complete);
    const received = await exchange(router.port, input, whole.length);

    const statuses = statusesIn(received);
    assert.ok(statuses.length <= sent.length + 1, `${statuses.length} answers to ${sent.length} requests`);
    const beyond = statuses[sent.length];
    if (isRefused && beyond !== undefined)
      assert.ok(refusals.has(beyond), `${beyond} for what must be refused`);
    const left = [...sent, ...setting.late];
    for (const arrived of router.allRequests()) {
      assertIsAlice(arrived);
      const at = left.findIndex((request) => mayBe(arrived, request));
      assert.notEqual(at, -1, `${nameOf(arrived)} arrived so, and was not sent so`);
      left.splice(at, 1);
    }
    setting.late = left.filter((request) => sent.includes(request));
    const failures = router.logLines
      .slice(linesBefore)
      .filter((line) => /A request failed|could not be written|upgrade failed/.test(line));
    assert.deepEqual(failures, []);
  },
});
