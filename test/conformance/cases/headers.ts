import assert from 'node:assert/strict';
import { allHeaders, firstHeader } from '../../../src/apimachinery/raw-headers.ts';
import { user } from '../callers.ts';
import { targets } from '../cluster.ts';
import type { CaseGroup } from '../conformance-case.ts';
import { responds } from '../peers.ts';
import { assertNothingArrived, assertStatus } from '../status-answer.ts';

const hopByHop = 'RFC 9110 section 7.6.1';

export const headers: CaseGroup = {
  title: 'Headers',
  cases: [
    {
      id: 'headers/client-address',
      rule: 'Servers are told the client’s address, behind those of the proxies before it (X-Forwarded-For)',
      citation: 'k8s.io/apimachinery pkg/util/net/http.go, SourceIPs; audit logs have them as sourceIPs',
      needs: ['clientAddress'],
      async run(world) {
        const forged = ['CF-Connecting-IP', '198.51.100.9', 'X-Forwarded-For', '203.0.113.7'];
        await world.ask({ target: targets.peer3, headers: forged }, user('alice'));
        const addresses = allHeaders(world.cluster.peer3.only().headers, 'x-forwarded-for');
        assert.deepEqual(addresses, ['203.0.113.7, 127.0.0.1']);
      },
    },
    {
      id: 'headers/hop-by-hop-requests',
      rule: 'What a client means for its own connection ends there, what its `Connection` line nominates included',
      citation: hopByHop,
      needs: ['http1'],
      async run(world) {
        await world.ask(
          {
            target: targets.peer3,
            headers: [
              ...['Connection', 'close, X-Nominated', 'X-Nominated', 'mine', 'Keep-Alive', 'timeout=1234'],
              ...['TE', 'trailers', 'Proxy-Authorization', 'Basic mine', 'Proxy-Connection', 'mine'],
              ...['X-Kept', 'yes'],
            ],
          },
          user('alice'),
        );
        const { headers: arrived } = world.cluster.peer3.only();
        for (const name of ['x-nominated', 'keep-alive', 'te', 'proxy-authorization', 'proxy-connection']) {
          assert.deepEqual(allHeaders(arrived, name), [], name);
        }
        assert.ok(!allHeaders(arrived, 'connection').some((value) => /nominated/i.test(value)));
        assert.deepEqual(allHeaders(arrived, 'x-kept'), ['yes']);
      },
    },
    {
      id: 'headers/nominations-strip-nothing',
      rule: 'A `Connection` line cannot nominate away what the router adds, nor credentials and impersonation',
      citation: 'GHSA-pvxj-25m6-7vqr',
      needs: ['http1'],
      async run(world) {
        const nominations =
          'close, Impersonate-User, Authorization, Via, X-Remote-User, X-Kubernetes-Peer-Proxied';
        await world.ask({
          target: targets.peer3,
          headers: [
            ...['Connection', nominations, 'Impersonate-User', 'bob', 'Authorization', 'Bearer opaque'],
          ],
        });
        const { headers: arrived } = world.cluster.peer3.only();
        assert.deepEqual(allHeaders(arrived, 'impersonate-user'), ['bob']);
        assert.deepEqual(allHeaders(arrived, 'authorization'), ['Bearer opaque']);
        assert.deepEqual(allHeaders(arrived, 'x-kubernetes-peer-proxied'), ['true']);
        assert.equal(allHeaders(arrived, 'via').length, 1);
      },
    },
    {
      id: 'headers/te-over-http2',
      rule: '`TE: trailers` of an HTTP/2 client does not travel',
      citation: 'RFC 9113 section 8.2.2',
      needs: ['http2'],
      async run(world) {
        await world.ask({ target: targets.peer3, headers: ['TE', 'trailers'] }, user('alice'));
        assert.deepEqual(allHeaders(world.cluster.peer3.only().headers, 'te'), []);
      },
    },
    {
      id: 'headers/hop-by-hop-answers',
      rule: 'What an HTTP/1.1 server means for its own connection does not reach the client, over HTTP/2 neither',
      citation: `${hopByHop}; RFC 9113 section 8.2.2`,
      async run(world) {
        world.cluster.peer1.script = responds(
          200,
          [
            ...['Content-Type', 'application/json', 'Connection', 'keep-alive, X-Private'],
            ...['X-Private', 'mine', 'Keep-Alive', 'timeout=1234', 'Proxy-Authenticate', 'Basic'],
            ...['X-Kept', 'yes'],
          ],
          '{}',
        );
        const answer = await world.ask({ target: targets.peer1, method: 'PATCH' }, user('alice'));
        assert.equal(answer.status, 200);
        assert.equal(answer.body, '{}');
        assert.deepEqual(allHeaders(answer.headers, 'x-private'), []);
        assert.deepEqual(allHeaders(answer.headers, 'proxy-authenticate'), []);
        assert.ok(!allHeaders(answer.headers, 'keep-alive').includes('timeout=1234'));
        assert.ok(!allHeaders(answer.headers, 'connection').some((value) => /private/i.test(value)));
        assert.deepEqual(allHeaders(answer.headers, 'x-kept'), ['yes']);
      },
    },
    {
      id: 'headers/answers-are-complete',
      rule: 'Every other line of a response arrives: audit IDs, warnings, several cookies, content type',
      citation: 'RFC 9110 section 7.7',
      async run(world) {
        world.cluster.peer3.script = responds(
          201,
          [
            ...['Content-Type', 'application/vnd.kubernetes.protobuf', 'Content-Length', '5'],
            ...['Audit-Id', 'a3f1', 'Cache-Control', 'no-cache, private'],
            ...['Warning', '299 - "first"', 'Warning', '299 - "second, with a comma"'],
            ...['Set-Cookie', 'a=1; Path=/', 'Set-Cookie', 'b=2; Path=/'],
          ],
          'k8s\u0000x',
        );
        const answer = await world.ask({ target: targets.peer3, method: 'POST', body: '{}' }, user('alice'));
        assert.equal(answer.status, 201);
        assert.equal(answer.body, 'k8s\u0000x');
        assert.equal(firstHeader(answer.headers, 'content-type'), 'application/vnd.kubernetes.protobuf');
        assert.equal(firstHeader(answer.headers, 'audit-id'), 'a3f1');
        assert.equal(firstHeader(answer.headers, 'cache-control'), 'no-cache, private');
        // A list: one line or two mean the same (RFC 9110 section 5.3), which kubectl knows.
        assert.equal(
          allHeaders(answer.headers, 'warning').join(', '),
          '299 - "first", 299 - "second, with a comma"',
        );
        // No list (RFC 6265 section 3).
        assert.deepEqual(allHeaders(answer.headers, 'set-cookie'), ['a=1; Path=/', 'b=2; Path=/']);
      },
    },
    {
      id: 'headers/negotiation',
      rule: 'Accept, content type, user agent and conditions arrive as the client wrote them',
      citation: 'kubernetes.io: API concepts, alternate representations',
      async run(world) {
        const sent = [
          ...['Accept', 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'],
          ...['User-Agent', 'kubectl/v1.33.0 (linux/amd64) kubernetes/60a317e'],
          ...['If-Match', '"12"', 'Content-Type', 'application/apply-patch+yaml'],
        ];
        await world.ask(
          { target: `${targets.peer3}/x`, method: 'PATCH', headers: sent, body: 'kind: X' },
          user('alice'),
        );
        const { headers: arrived } = world.cluster.peer3.only();
        for (let index = 0; index + 1 < sent.length; index += 2) {
          assert.deepEqual(allHeaders(arrived, sent[index] ?? ''), [sent[index + 1]]);
        }
      },
    },
    {
      id: 'headers/accept-encoding',
      rule: 'The codings that a client accepts arrive: none are added, and none left out',
      citation: 'RFC 9110 section 12.5.3',
      async run(world) {
        await world.ask({ target: targets.peer3, headers: ['Accept-Encoding', 'gzip'] }, user('alice'));
        assert.deepEqual(allHeaders(world.cluster.peer3.only().headers, 'accept-encoding'), ['gzip']);
        world.cluster.reset();
        await world.ask({ target: targets.peer3 }, user('alice'));
        const asked = allHeaders(world.cluster.peer3.only().headers, 'accept-encoding');
        assert.ok(
          asked.every((coding) => coding === 'identity'),
          asked.join(),
        );
      },
    },
    {
      id: 'headers/loop',
      rule: 'A request that comes back to a router that it has passed is a 503 Status without Retry-After',
      citation: 'RFC 9110 section 7.6.3; decisions/0006-loops-end-by-via.md',
      async run(world) {
        await world.ask({ target: targets.peer3 });
        const via = firstHeader(world.cluster.peer3.only().headers, 'via');
        assert.match(via ?? '', /^(?:1\.1|2\.0|2) mixed-version-proxy-[0-9a-f]{16}$/);
        world.cluster.reset();
        const answer = await world.ask({ target: targets.peer3, headers: ['Via', `${via}, 1.1 other`] });
        const { details } = assertStatus(answer, 503, 'ServiceUnavailable');
        assert.equal(details?.causes?.[0]?.reason, 'LoopDetected');
        assert.deepEqual(allHeaders(answer.headers, 'retry-after'), []);
        assertNothingArrived(world);
      },
    },
    {
      id: 'headers/two-framings',
      rule: 'What hides behind a request that can be framed in two ways is no request: it is refused, or the connection ends behind it',
      citation: 'RFC 9112 sections 6.1 and 6.3',
      needs: ['http1Bytes'],
      async run(world) {
        const hidden = `GET ${targets.peer3}/hidden HTTP/1.1\r\nHost: localhost\r\n\r\n`;
        for (const framing of [
          'Content-Length: 0\r\nTransfer-Encoding: chunked',
          `Content-Length: 0\r\nContent-Length: ${hidden.length}`,
          'Transfer-Encoding: xchunked',
        ]) {
          const connection = await world.client.connect?.();
          assert.ok(connection !== undefined);
          connection.write(
            `POST ${targets.peer3} HTTP/1.1\r\nHost: localhost\r\n${framing}\r\n\r\n0\r\n\r\n${hidden}`,
          );
          await connection.received.outcome();
          assert.equal(connection.received.text.match(/HTTP\/1\.1 \d{3}/g)?.length, 1);
        }
        for (const { requests } of world.cluster.all) {
          assert.ok(!requests.some(({ target }) => target.endsWith('/hidden')));
        }
      },
    },
  ],
};
