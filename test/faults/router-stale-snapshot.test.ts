import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstHeader } from '../../src/apimachinery/raw-headers.ts';
import { protocols } from '../support/api-servers/api-server-double.ts';
import { ask } from '../support/clients/ask.ts';
import { clusterSnapshot, startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';

const twoHoursAgo = (): string => new Date(Date.now() - 2 * 3_600_000).toISOString();

for (const protocol of protocols) {
  test(`while nothing is known a 404 for what may be a resource is a 503, and another path is as absent as ever, over ${protocol}`, async (context) => {
    const router = await startRouterUnderTest(context, { snapshot: () => undefined });
    router.local.answer = (outgoing) => {
      outgoing.writeHead(404, { 'content-type': 'text/plain' });
      outgoing.end('404 page not found');
    };
    const get = (path: string) => ask(router.port, { protocol, client: 'admin', path });
    const unknown = await get(targets.peer);
    assert.deepEqual([unknown.status, firstHeader(unknown.headers, 'retry-after')], [503, '1']);
    assert.match(unknown.body, /not known yet which API server serves this resource/);
    const document = await get('/apis/resource.k8s.io/v1');
    assert.equal(document.status, 503, 'kubectl would take the 404 for a resource that does not exist');
    assert.equal((await get('/no/such/path')).status, 404);

    assert.equal((await router.push(clusterSnapshot(router))).status, 200);
    const { status, body } = await get('/apis/nowhere.example.com/v1/things');
    assert.deepEqual([status, body], [404, '404 page not found']);
  });

  test(`a snapshot that nobody has renewed for hours stays in use, and its age is told, over ${protocol}`, async (context) => {
    const router = await startRouterUnderTest(context, {
      snapshot: (backends) => clusterSnapshot(backends, { createdAt: twoHoursAgo() }),
    });
    const get = (path: string) => ask(router.port, { protocol, client: 'admin', path });
    assert.match((await get(targets.peer)).body, /"answeredBy":"peer"/);
    const ready = await get('/readyz?verbose');
    assert.equal(ready.status, 200);
    assert.match(
      ready.body,
      /^warn: snapshot: the snapshot is 2 h 0 min old, and still used: see to the sync job/m,
    );
    const { snapshot, warnings } = JSON.parse((await get('/.mixed-version-proxy/v1/status')).body);
    assert.equal(snapshot.old, true);
    assert.match(JSON.stringify(warnings), /the snapshot is 2 h 0 min old, and still used/);
    // An old snapshot is no ignorance.
    router.local.answer = (outgoing) => {
      outgoing.writeHead(404);
      outgoing.end();
    };
    assert.equal((await get('/apis/nowhere.example.com/v1/things')).status, 404);
    assert.equal((await router.push(clusterSnapshot(router, { generation: 9 }))).status, 200);
    assert.doesNotMatch((await get('/readyz?verbose')).body, /warn: snapshot/);
  });
}
