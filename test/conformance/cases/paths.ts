import assert from 'node:assert/strict';
import { user } from '../callers.ts';
import type { CaseGroup, World } from '../conformance-case.ts';
import { assertNothingArrived, assertStatus } from '../status-answer.ts';
import { toldIdentity } from '../told-identity.ts';

const citation = 'src/apimachinery/request-target.ts; GHSA-2q7r-29rg-6m5h';
const jobs = '/apis/batch/v1/namespaces/a/jobs';

/** Odd, and the same to every parser. */
const unambiguous = [
  `${jobs}/b%2Fc`,
  `${jobs}/b%252e%252e`,
  `${jobs}/...`,
  `${jobs}/b;c=d`,
  `${jobs}/b%3Bc`,
  `${jobs}/caf%C3%A9`,
  `${jobs}/b/`,
  `${jobs}//b`,
  `${jobs}?z=1&a=%2e%2e/..&z=0&&=&x;y&plus=+&space=%20`,
  `${jobs}?`,
  `${jobs}?x=https://evil.example/../..`,
  '/apis/batch/v1/namespaces/a%2Fb/jobs',
  '/apis/BATCH/v1/jobs',
  '/apis/batch/v1/Jobs',
  '/APIS/batch/v1/jobs',
];

/** WHATWG URL parsers percent-encode these in a path or a query (URL section 1.3). */
const rewrittenByUrlParsers = [`${jobs}/b"c`, `${jobs}/b<c>`, `${jobs}/b{c}`, `${jobs}?x="y'<z>`];

/** The same, in what HTTP/1.1 parsers of every runtime take. */
const encodedOnTheWay = [
  `${jobs}/b^c`,
  `${jobs}/b{c}`,
  `${jobs}/b%7Bc}`,
  `${jobs}?query=up{job='x'}`,
  `${jobs}?x='y'`,
];

/** No URL parser resolves these, whoever decodes first does. */
const refusedEverywhere = [
  `${jobs}/..%2F..%2Fsecrets`,
  '/apis/batch/v1/namespaces/..%2Fjobs',
  `${jobs}/%u002e`,
  '/apis/batch/v1/namespaces%2F..%2Fjobs',
  '/apis/batch/v1/namespaces%2f%2e%2e%2fjobs',
  '/apis/batch/v1%5cnamespaces%5ca%5cjobs',
  `${jobs}/%00`,
  `${jobs}/%0d%0aX-Remote-User:%20root`,
  `${jobs}/%7f`,
  `${jobs}/%c0%ae%c0%ae/secrets`,
  `${jobs}/%ff`,
  `${jobs}/%`,
  `${jobs}/%zz`,
];

/** URL parsers resolve or rewrite these. */
const resolvedByUrlParsers = [
  '/apis/batch/v1/namespaces/../jobs',
  '/apis/batch/v1/namespaces/./jobs',
  '/apis/batch/v1/namespaces/%2e%2e/jobs',
  '/apis/batch/v1/namespaces/%2E%2E/jobs',
  '/apis/batch/v1/namespaces/.%2E/jobs',
  '/apis/batch/v1/namespaces/%2e./jobs',
  '/apis/batch/v1/namespaces/%2e/jobs',
  '/%2e%2e/apis/batch/v1/jobs',
  '/apis/batch/v1/namespaces/a/jobs/..',
  '/../apis/batch/v1/jobs',
  '/.mixed-version-proxy/../apis/batch/v1/jobs',
  '/.mixed-version-proxy/v1/%2e%2e/snapshot',
  '/apis/batch/v1\\namespaces\\a\\jobs',
];

const forbiddenBytes = ['\u0000', '\u0001', '\u007f', '\u00e9', '\t'];

export const paths: CaseGroup = {
  title: 'Paths',
  cases: [
    {
      id: 'paths/kept',
      rule: 'Path and query are forwarded byte for byte: `%2F`, `;`, a trailing slash, the order of the query',
      citation: 'RFC 9110 section 7.6; design: the path that is decided on is the path that is forwarded',
      run: (world) => eachArrives(world, unambiguous),
    },
    {
      id: 'paths/kept-exactly',
      rule: 'Characters that URL parsers would percent-encode are forwarded byte for byte',
      citation: 'URL Standard section 1.3',
      needs: ['exactTarget'],
      run: (world) => eachArrives(world, rewrittenByUrlParsers),
    },
    {
      id: 'paths/one-spelling',
      rule: 'They arrive in the spelling that was decided on and signed, percent-encoded or not, with their caller',
      citation: 'URL Standard section 1.3; docs/guides/edge.md, Assertions',
      async run(world) {
        for (const target of encodedOnTheWay) {
          world.cluster.reset();
          const encoded = new URL(target, 'https://localhost').href.slice('https://localhost'.length);
          const answer = await world.ask({ target }, user('alice'));
          assert.equal(answer.status, 200, `${target}: ${answer.body}`);
          const arrived = world.cluster.all.flatMap((peer) =>
            peer.requests.map((request) => ({ peer, request })),
          );
          const [first, ...others] = arrived;
          assert.ok(first !== undefined && others.length === 0);
          assert.ok([target, encoded].includes(first.request.target), first.request.target);
          assert.equal((await toldIdentity(first.peer, first.request))?.user, 'alice', target);
        }
      },
    },
    {
      id: 'paths/encoded-ambiguity',
      rule: 'Encoded slashes that hide dot segments, encoded backslashes, NUL and broken escapes are a 400 Status',
      citation,
      run: (world) => eachIsRefused(world, refusedEverywhere),
    },
    {
      id: 'paths/dot-segments',
      rule: 'Dot segments, plain and encoded, and backslashes are a 400 Status',
      citation,
      needs: ['dotSegments'],
      run: (world) => eachIsRefused(world, resolvedByUrlParsers),
    },
    {
      id: 'paths/fragments',
      rule: 'So is a fragment, which no request target has',
      citation: 'RFC 9112 section 3.2',
      needs: ['exactTarget'],
      run: (world) => eachIsRefused(world, [`${jobs}#x`, `${jobs}#/../secrets`]),
    },
    {
      id: 'paths/no-bypass',
      rule: 'A dot segment is refused, or resolved before it is decided on: it never arrives at a server, nor opens an own path',
      citation,
      async run(world) {
        for (const target of resolvedByUrlParsers) {
          world.cluster.reset();
          const answer = await world.ask({ target }, undefined);
          const arrived = world.cluster.all.flatMap(({ requests }) => requests);
          if (arrived.length === 0) {
            assert.ok(answer.status === 400 || answer.status === 403, `${target}: ${answer.status}`);
            continue;
          }
          assert.equal(arrived.length, 1);
          const [request] = arrived;
          assert.doesNotMatch(request?.target ?? '', /\/\.{1,2}(?:\/|$)|%2e|\\/i, target);
        }
      },
    },
    {
      id: 'paths/raw-bytes',
      rule: 'Raw control characters and raw non-ASCII in a target are a 400, and no server hears of them',
      citation: 'RFC 9112 section 3.2',
      needs: ['http1Bytes'],
      async run(world) {
        for (const byte of forbiddenBytes) {
          const connection = await world.client.connect?.();
          assert.ok(connection !== undefined);
          connection.write(`GET ${jobs}/${byte} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
          const received = await connection.received.toEnd();
          assert.match(received, /^HTTP\/1\.1 400 /, JSON.stringify(byte));
        }
        assertNothingArrived(world);
      },
    },
  ],
};

async function eachArrives(world: World, targets: readonly string[]): Promise<void> {
  for (const target of targets) {
    world.cluster.reset();
    const answer = await world.ask({ target }, user('alice'));
    assert.equal(answer.status, 200, target);
    assert.deepEqual(
      world.cluster.all.flatMap(({ requests }) => requests.map((request) => request.target)),
      [target],
    );
  }
}

async function eachIsRefused(world: World, targets: readonly string[]): Promise<void> {
  for (const target of targets) {
    const answer = await world.ask({ target });
    assertStatus(answer, 400, 'BadRequest');
    assert.ok(!answer.body.includes('root'), 'the refusal repeats nothing of the target');
  }
  assertNothingArrived(world);
}
