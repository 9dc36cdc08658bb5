import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { allHeaders, firstHeader } from '../../../src/apimachinery/raw-headers.ts';
import { eventually } from '../../support/eventually.ts';
import { user } from '../callers.ts';
import { targets } from '../cluster.ts';
import type { CaseGroup, WholeAnswer, World } from '../conformance-case.ts';
import { responds } from '../peers.ts';

const alice = user('alice');
const megabyte = 1024 * 1024;

/** Bytes without a pattern that a compressing or recoding hop could keep by luck. */
const largeBody = Array.from({ length: 8 * 1024 }, (_, index) =>
  createHash('sha512').update(String(index)).digest('latin1'),
)
  .join('')
  .repeat(4);

const document = JSON.stringify({ kind: 'List', items: Array.from({ length: 500 }, (_, uid) => ({ uid })) });

const compressed = gzipSync(document);
const takesGzip = { target: targets.peer3, headers: ['Accept-Encoding', 'gzip'] };
const respondsCompressed = responds(
  200,
  [
    ...['Content-Type', 'application/json', 'Content-Encoding', 'gzip'],
    ...['Content-Length', String(compressed.length), 'Vary', 'Accept-Encoding'],
  ],
  compressed,
);

export const bodies: CaseGroup = {
  title: 'Bodies',
  cases: [
    {
      id: 'bodies/gzip',
      rule: 'A compressed response passes still compressed, with its coding and under no other length',
      citation: 'RFC 9110 section 7.7',
      async run(world) {
        world.cluster.peer3.script = respondsCompressed;
        const answer = await world.ask(takesGzip, alice);
        assert.deepEqual(allHeaders(answer.headers, 'content-encoding'), ['gzip']);
        assertLength(answer, compressed.length);
        const received = Buffer.from(answer.body, 'latin1');
        assert.ok(received.equals(compressed), 'the very bytes');
        assert.equal(gunzipSync(received).toString(), document);
      },
    },
    {
      id: 'bodies/gzip-stream',
      rule: 'So does one of unknown length',
      citation: 'RFC 9110 section 7.7',
      async run(world) {
        world.cluster.peer3.script = (_request, answer) => {
          answer.head(200, ['Content-Type', 'application/json', 'Content-Encoding', 'gzip']);
          answer.write(compressed.subarray(0, 100));
          answer.end(compressed.subarray(100));
        };
        const answer = await world.ask(takesGzip, alice);
        assert.deepEqual(allHeaders(answer.headers, 'content-encoding'), ['gzip']);
        assert.ok(Buffer.from(answer.body, 'latin1').equals(compressed), 'the very bytes');
      },
    },
    {
      id: 'bodies/large-answer',
      rule: 'A large answer arrives whole',
      citation: 'design: bodies are never buffered',
      async run(world) {
        world.cluster.peer3.script = responds(
          200,
          ['Content-Type', 'application/octet-stream'],
          Buffer.from(largeBody, 'latin1'),
        );
        const answer = await world.ask({ target: targets.peer3 }, alice);
        assert.ok(answer.body.length >= 2 * megabyte);
        assert.ok(answer.body === largeBody, `${answer.body.length} of ${largeBody.length} bytes, or others`);
      },
    },
    {
      id: 'bodies/large-upload',
      rule: 'A large body, sent without a length, arrives whole',
      citation: 'RFC 9112 section 7.1',
      async run(world) {
        world.cluster.peer3.script = async (request, answer) => {
          await request.body.outcome();
          answer.head(201, ['Content-Length', '0']);
          answer.end();
        };
        const exchange = await world.send({ target: targets.peer3, method: 'POST', streamed: true }, alice);
        exchange.write(largeBody);
        exchange.end();
        assert.equal((await exchange.answer).status, 201);
        const body = await world.cluster.peer3.only().body.toEnd();
        assert.ok(body === largeBody, `${body.length} of ${largeBody.length} bytes, or others`);
      },
    },
    {
      id: 'bodies/request-length',
      rule: 'A body with a length arrives whole, framed once',
      citation: 'RFC 9112 section 6.3',
      async run(world) {
        for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
          world.cluster.reset();
          const body = `{"method":"${method}","text":"Größe"}`;
          const answer = await world.ask({ target: `${targets.peer3}/x`, method, body }, alice);
          assert.equal(answer.status, 200);
          const request = world.cluster.peer3.only();
          assert.equal(request.method, method);
          assert.equal(Buffer.from(await request.body.toEnd(), 'latin1').toString(), body);
          const lengths = allHeaders(request.headers, 'content-length');
          const codings = allHeaders(request.headers, 'transfer-encoding');
          assert.ok(lengths.length + codings.length <= 1, request.headers.join());
          for (const length of lengths) assert.equal(length, String(Buffer.byteLength(body)));
        }
      },
    },
    {
      id: 'bodies/answer-length',
      rule: 'The length of a response is kept, that of a compressed one too',
      citation: 'RFC 9110 section 8.6',
      async run(world) {
        world.cluster.peer3.script = respondsCompressed;
        const answer = await world.ask(takesGzip, alice);
        assert.deepEqual(allHeaders(answer.headers, 'content-length'), [String(compressed.length)]);
      },
    },
    {
      id: 'bodies/head',
      rule: 'A response to HEAD has the lines of the response to GET and no body',
      citation: 'RFC 9110 section 9.3.2',
      async run(world) {
        const lines = ['Content-Type', 'application/json', 'Content-Length', '1234', 'ETag', '"1"'];
        world.cluster.peer3.script = responds(200, lines);
        const answer = await world.ask({ target: targets.peer3, method: 'HEAD' }, alice);
        assert.equal(world.cluster.peer3.only().method, 'HEAD');
        assert.equal(answer.status, 200);
        assert.equal(answer.body, '');
        assert.equal(firstHeader(answer.headers, 'etag'), '"1"');
        assertLength(answer, 1234);
      },
    },
    {
      id: 'bodies/without-content',
      rule: '204 and 304 end with their head, and their lines arrive',
      citation: 'RFC 9110 sections 15.3.5 and 15.4.5',
      async run(world) {
        for (const status of [204, 304]) {
          world.cluster.peer3.script = responds(status, ['ETag', '"7"', 'Audit-Id', 'a3f1']);
          const answer = await world.ask({ target: targets.peer3, headers: ['If-None-Match', '"7"'] }, alice);
          assert.equal(answer.status, status);
          assert.equal(answer.body, '');
          assert.equal(firstHeader(answer.headers, 'etag'), '"7"');
          assert.equal(firstHeader(answer.headers, 'audit-id'), 'a3f1');
        }
      },
    },
    {
      id: 'bodies/any-code',
      rule: 'What a server answered passes untouched, whatever its code, and is asked for once',
      citation: 'design: a response that a peer did give passes through untouched',
      async run(world) {
        for (const status of [200, 202, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503, 504]) {
          world.cluster.reset();
          const body = `{"kind":"Status","code":${status}}`;
          world.cluster.peer3.script = responds(
            status,
            ['Content-Type', 'application/json', 'Retry-After', '7'],
            body,
          );
          const answer = await world.ask({ target: targets.peer3 }, alice);
          assert.equal(answer.status, status);
          assert.equal(answer.body, body);
          assert.equal(firstHeader(answer.headers, 'retry-after'), '7');
          assert.equal(world.cluster.peer3.requests.length, 1);
        }
      },
    },
    {
      id: 'bodies/expect-continue',
      rule: 'A client that waits for `100 Continue` gets it, or a response at once; the expectation does not travel',
      citation: 'RFC 9110 section 10.1.1',
      needs: ['interimAnswers'],
      async run(world) {
        // An answer before the body is there would make the body unwanted.
        world.cluster.peer3.script = async (request, answer) => {
          await request.body.outcome();
          answer.head(200, ['Content-Length', '0']);
          answer.end();
        };
        const exchange = await world.send(
          {
            target: targets.peer3,
            method: 'POST',
            headers: ['Expect', '100-continue'],
            streamed: true,
          },
          alice,
        );
        await eventually(() => exchange.interim.length > 0);
        assert.deepEqual(exchange.interim, [100]);
        exchange.write('{}');
        exchange.end();
        assert.equal((await exchange.answer).status, 200);
        const request = world.cluster.peer3.only();
        assert.equal(await request.body.toEnd(), '{}');
        assert.deepEqual(allHeaders(request.headers, 'expect'), []);
      },
    },
    {
      id: 'bodies/content-of-reads',
      rule: 'Content of a GET or HEAD arrives with it, whole',
      citation:
        'RFC 9110 section 9.3.1: it has no generally defined semantics, and search engines behind the API server use it',
      needs: ['contentOfReads'],
      async run(world) {
        for (const method of ['GET', 'HEAD']) {
          world.cluster.reset();
          world.cluster.peer3.script = async (request, answer) => {
            await request.body.outcome();
            answer.head(200, ['Content-Length', '0']);
            answer.end();
          };
          const answer = await world.ask({ target: targets.peer3, method, body: '{"query":{}}' }, alice);
          assert.equal(answer.status, 200, answer.body);
          const request = world.cluster.peer3.only();
          assert.deepEqual([request.method, await request.body.toEnd()], [method, '{"query":{}}']);
        }
      },
    },
    {
      id: 'bodies/content-of-reads-blames-nobody',
      rule: 'Where it cannot be sent on, a 400 Status says so; whatever becomes of it, no server is avoided for it',
      citation: 'design: a fault never un-routes a healthy server',
      needs: ['http1'],
      async run(world) {
        const { local } = world.cluster;
        for (const method of ['GET', 'HEAD']) {
          for (const body of ['{"query":{}}', '']) {
            world.cluster.reset();
            const headers = [
              'Content-Type',
              'application/json',
              ...(body === '' ? ['Content-Length', '0'] : []),
            ];
            const request = { target: targets.local, method, headers, ...(body === '' ? {} : { body }) };
            const { status } = await world.ask(request, alice);
            // No content is no reason to refuse anything.
            const expected = body === '' ? [200] : [200, 400];
            assert.ok(expected.includes(status), `${method} ${body.length}: ${status}`);
            assert.equal(local.requests.length, status === 200 ? 1 : 0);
            for (let count = 0; count < 4; count++) {
              assert.equal((await world.ask({ target: targets.local }, alice)).status, 200);
            }
            assert.equal(local.requests.length, status === 200 ? 5 : 4);
          }
        }
      },
    },
    {
      id: 'bodies/broken-off-blames-nobody',
      rule: 'Nor for content that its client breaks off',
      citation: 'design: a fault never un-routes a healthy server',
      async run(world) {
        const { local } = world.cluster;
        const breaksOff = [post, ...(world.client.connect === undefined ? [] : [getByHand])];
        for (const breakOff of breaksOff) {
          world.cluster.reset();
          await breakOff(world);
          world.cluster.reset();
          for (let count = 0; count < 4; count++) {
            assert.equal((await world.ask({ target: targets.local }, alice)).status, 200);
          }
          assert.equal(local.requests.length, 4);
        }
      },
    },
    {
      id: 'bodies/redirects',
      rule: 'Redirects are never followed; one of a peer to another host is refused, one to a path passes',
      citation: 'CVE-2020-8559, CVE-2022-3172',
      async run(world) {
        const { peer3, local } = world.cluster;
        const elsewhere = `https://127.0.0.1:${local.port}/evil`;
        peer3.script = responds(302, ['Location', elsewhere, 'Content-Length', '0']);
        const refused = await world.ask({ target: targets.peer3 }, alice);
        assert.equal(refused.status, 503);
        assert.ok(!/evil/.test(refused.body + refused.headers.join()));
        peer3.script = responds(301, ['Location', '/apis/policy/v1/', 'Content-Length', '0']);
        const passed = await world.ask({ target: targets.peer3 }, alice);
        assert.equal(passed.status, 301);
        assert.equal(firstHeader(passed.headers, 'location'), '/apis/policy/v1/');
        assert.deepEqual(local.requests, []);
        assert.equal(peer3.requests.length, 2);
      },
    },
  ],
};

/** A hop may frame a body anew, without a length; it must not name another. */
function assertLength({ headers }: WholeAnswer, length: number): void {
  assert.ok(allHeaders(headers, 'content-length').every((named) => named === String(length)));
}

/** A POST whose client leaves when the first byte is there. */
async function post(world: World): Promise<void> {
  const exchange = await world.send({ target: targets.local, method: 'POST', streamed: true }, alice);
  exchange.write('{');
  await eventually(() => world.cluster.local.requests.length > 0);
  exchange.disconnect();
}

/** The same of a read, which no library writes. */
async function getByHand({ client, callerLine, cluster }: World): Promise<void> {
  const [name, value] = await callerLine(alice, { target: targets.local, method: 'GET' });
  const connection = await client.connect?.();
  assert.ok(connection !== undefined);
  connection.write(
    `GET ${targets.local} HTTP/1.1\r\nHost: localhost\r\n${name}: ${value}\r\nContent-Length: 100000\r\n\r\n{`,
  );
  await eventually(() => cluster.local.requests.length > 0 || connection.received.text !== '');
  connection.close();
}
