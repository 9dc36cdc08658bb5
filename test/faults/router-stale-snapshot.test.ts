import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { firstHeader } from '../../src/apimachinery/raw-headers.ts';
import { ask } from '../support/security/ask.ts';
import { type Protocol, protocols } from '../support/security/recording-backend.ts';
import {
  clusterSnapshot,
  type RouterUnderTestOptions,
  startRouterUnderTest,
  targets,
} from '../support/security/router-under-test.ts';

const twoHoursAgo = (): string => new Date(Date.now() - 2 * 3_600_000).toISOString();
const old: NonNullable<RouterUnderTestOptions['snapshot']> = (backends) =>
  clusterSnapshot(backends, { createdAt: twoHoursAgo() });
const none: NonNullable<RouterUnderTestOptions['snapshot']> = () => undefined;

/** What a request for what only the peer serves comes to. */
async function askForPeers(port: number, protocol: Protocol) {
  const { status, headers, body } = await ask(port, { protocol, client: 'admin', path: targets.peer });
  return { status, retryAfter: firstHeader(headers, 'retry-after'), body: JSON.parse(body) };
}

const readiness = async (port: number): Promise<number> => (await ask(port, { path: '/readyz' })).status;

for (const protocol of protocols) {
  describe(`clients over ${protocol}`, () => {
    test('no snapshot yet: the local server serves, not ready, and ready with the first one', async (context) => {
      const router = await startRouterUnderTest(context, { snapshot: none });
      assert.equal(await readiness(router.port), 500);
      const before = await askForPeers(router.port, protocol);
      assert.equal(before.status, 200);
      assert.equal(before.body.answeredBy, 'local');

      assert.equal((await router.push(clusterSnapshot(router))).status, 200);
      assert.equal(await readiness(router.port), 200);
      assert.equal((await askForPeers(router.port, protocol)).body.answeredBy, 'peer');
    });

    test('while nothing is known a 404 is a 503 with Retry-After; once something is, it is a 404', async (context) => {
      const router = await startRouterUnderTest(context, { snapshot: none });
      router.local.answer = (outgoing) => {
        outgoing.writeHead(404, { 'content-type': 'text/plain' });
        outgoing.end('404 page not found');
      };
      const unknown = await askForPeers(router.port, protocol);
      assert.equal(unknown.status, 503);
      assert.equal(unknown.retryAfter, '1');
      assert.match(unknown.body.message, /not known yet which API server serves this resource/);
      const document = await ask(router.port, {
        protocol,
        client: 'admin',
        path: '/apis/resource.k8s.io/v1',
      });
      assert.equal(document.status, 503, 'kubectl would take the 404 for a resource that does not exist');
      // What is no resource is as absent as ever.
      const path = '/no/such/path';
      assert.equal((await ask(router.port, { protocol, client: 'admin', path })).status, 404);

      assert.equal((await router.push(clusterSnapshot(router))).status, 200);
      const nowhere = '/apis/nowhere.example.com/v1/things';
      const answer = await ask(router.port, { protocol, client: 'admin', path: nowhere });
      assert.equal(answer.status, 404);
      assert.equal(answer.body, '404 page not found');
    });

    test('a snapshot that nobody has renewed for hours stays in use, and its age is told', async (context) => {
      const router = await startRouterUnderTest(context, { snapshot: old });
      assert.equal((await askForPeers(router.port, protocol)).body.answeredBy, 'peer');
      const { status, body } = await ask(router.port, { protocol, path: '/readyz?verbose' });
      assert.equal(status, 200);
      assert.match(
        body,
        /^warn: snapshot: the snapshot is 2 h 0 min old, and still used: see to the sync job/m,
      );
      const told = await ask(router.port, { client: 'admin', path: '/.mixed-version-proxy/v1/status' });
      const { snapshot, warnings } = JSON.parse(told.body);
      assert.equal(snapshot.old, true);
      assert.match(JSON.stringify(warnings), /the snapshot is 2 h 0 min old, and still used/);
      assert.equal((await router.push(clusterSnapshot(router, { generation: 9 }))).status, 200);
      const renewed = await ask(router.port, { protocol, path: '/readyz?verbose' });
      assert.doesNotMatch(renewed.body, /warn: snapshot/);
    });

    test('an old snapshot is no ignorance: what nobody was known to serve stays a 404', async (context) => {
      const router = await startRouterUnderTest(context, { snapshot: old });
      router.local.answer = (outgoing) => {
        outgoing.writeHead(404);
        outgoing.end();
      };
      const path = '/apis/nowhere.example.com/v1/things';
      assert.equal((await ask(router.port, { protocol, client: 'admin', path })).status, 404);
    });
  });
}
