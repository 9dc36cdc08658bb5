import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allHeaders } from '../../src/apimachinery/raw-headers.ts';
import { type ApiServerDouble, protocols } from '../support/api-servers/api-server-double.ts';
import { ask } from '../support/clients/ask.ts';
import { startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';

/** Status that a client gets in place of a redirect that it must not see. */
const refusal = 503;
const codes = [300, 301, 302, 303, 305, 307, 308];

/** A `Location` that some URL parser could take for another server. */
function elsewhere(port: number): string[] {
  const evil = `127.0.0.1:${port}`;
  return [
    `https://${evil}/evil`,
    `HTTPS://${evil}/evil`,
    `//${evil}/evil`,
    `/\\${evil}/evil`,
    `\\\\${evil}/evil`,
    `/\t/${evil}/evil`,
    `https:${evil}/evil`,
    `https:/${evil}/evil`,
    `javascript:evil`,
    'evil.example',
    '',
    `/ok\tevil`,
  ];
}

function answerWith(backend: ApiServerDouble, status: number, ...locations: string[]): void {
  backend.answer = (outgoing) => {
    outgoing.setHeader('location', locations);
    outgoing.writeHead(status);
    outgoing.end('moved');
  };
}

for (const protocol of protocols) {
  test(`S3 S4: a redirect of a peer to another server is not followed and does not reach a client on ${protocol} (CVE-2022-3172)`, async (context) => {
    const router = await startRouterUnderTest(context);
    // A server of the cluster itself is the best prize: the router could reach it with its certificate.
    const locations = elsewhere(router.local.port);
    for (const status of codes) {
      for (const location of locations) {
        answerWith(router.peer, status, location);
        const answer = await ask(router.port, { protocol, client: 'alice', path: targets.peer });

        assert.equal(answer.status, refusal, `${status} ${JSON.stringify(location)}`);
        assert.match(answer.body, /"kind":"Status".*attempted to redirect this request/);
        assert.deepEqual(allHeaders(answer.headers, 'location'), []);
      }
      // One that is harmless does not hide one that is not.
      answerWith(router.peer, status, '/harmless', locations[0] ?? '');
      const both = await ask(router.port, { protocol, client: 'alice', path: targets.peer });
      assert.equal(both.status, refusal);
    }
    assert.deepEqual(router.local.requests, [], 'nothing was followed');
  });

  test(`S4: 304, redirects to a path, and a Location that is none pass to a client on ${protocol} (kubernetes#112526)`, async (context) => {
    const router = await startRouterUnderTest(context);
    for (const way of ['local', 'peer'] as const) {
      for (const [status, location] of [
        [301, '/openapi/v3/apis/batch/v1?hash=0815'],
        [301, '/apis/batch/v1/'],
        [307, '/'],
        [304, `https://127.0.0.1:${router.local.port}/evil`],
        [201, `https://127.0.0.1:${router.local.port}/created`],
      ] as const) {
        answerWith(router[way], status, location);
        const answer = await ask(router.port, { protocol, client: 'alice', path: targets[way] });
        assert.equal(answer.status, status);
        assert.deepEqual(allHeaders(answer.headers, 'location'), [location]);
      }
    }
    assert.equal(router.local.requests.length, 5, 'nothing was followed');
  });
}

test('S4: a redirect of discovery, health and OpenAPI by the local server is passed on, never followed', async (context) => {
  const router = await startRouterUnderTest(context);
  const location = `https://127.0.0.1:${router.peer.port}/evil`;
  answerWith(router.local, 302, location);
  for (const path of [
    '/apis',
    '/api',
    '/apis/batch',
    '/openapi/v3',
    '/openapi/v2',
    '/version',
    '/healthz/etcd',
  ]) {
    const answer = await ask(router.port, { client: 'alice', path });
    // The client asked the local server: whom it trusts is its own affair, and no merged document hides the answer.
    assert.deepEqual([answer.status, allHeaders(answer.headers, 'location')], [302, [location]], path);
  }
  assert.deepEqual(router.peer.requests, []);
});

test('S4: an application behind a peer may redirect its own clients, as behind every API server', async (context) => {
  const router = await startRouterUnderTest(context);
  answerWith(router.peer, 302, 'https://login.example/');
  const path = '/apis/batch/v1/namespaces/default/jobs/a/proxy/';
  assert.equal((await ask(router.port, { client: 'alice', path })).status, 302);
  assert.equal(router.peer.requests.length, 1);
});
