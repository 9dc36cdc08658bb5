import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstHeader } from '../../src/apimachinery/raw-headers.ts';
import { protocols } from '../support/api-servers/api-server-double.ts';
import { recordedSnapshot } from '../support/api-servers/recorded-cluster.ts';
import { ask } from '../support/clients/ask.ts';
import { aggregatedV2, aggregatedV2beta1 } from '../support/clients/ask-discovery.ts';
import { type Backends, startRouterUnderTest, targets } from '../support/routers/router-under-test.ts';

/** Recorded from two servers of 1.26, of which `a`, the local one, is without `batch/v1`. */
const mixedCluster = {
  serverId: 'a',
  snapshot: ({ peer }: Backends) => {
    const snapshot = recordedSnapshot('kubernetes-1.26-batch-disabled');
    const servers = snapshot.servers.map((server) => ({ ...server, address: `127.0.0.1:${peer.port}` }));
    return { ...snapshot, servers };
  },
};

const documents = ['/apis', '/api', '/apis/apps', '/apis/batch/v1'];

for (const protocol of protocols) {
  test(`S15: a merged document that one caller got is no other’s, over ${protocol}: each is let in by the local server`, async (context) => {
    const router = await startRouterUnderTest(context, mixedCluster);
    router.local.answer = (outgoing, { headers }) => {
      const allowed = firstHeader(headers, 'x-remote-user') === 'alice';
      outgoing.writeHead(allowed ? 200 : 403, { 'content-type': 'application/json' });
      outgoing.end(allowed ? '{}' : '{"kind":"Status","code":403}');
    };
    for (const path of documents) {
      for (const _round of [1, 2]) {
        const alice = await ask(router.port, { protocol, client: 'alice', path });
        assert.equal(alice.status, 200, path);
        assert.match(alice.body, /"kind":"API/, `${path} is not merged here: the test has shown nothing`);
        const etag = firstHeader(alice.headers, 'etag');
        for (const client of ['nobody', 'impostor'] as const) {
          // The validator proves nothing: who may not read the document does not learn that it has not changed.
          const headers = etag === undefined ? [] : ['if-none-match', etag];
          const other = await ask(router.port, { protocol, client, path, headers });
          assert.equal(other.status, 403, path);
          assert.equal(other.body, '{"kind":"Status","code":403}');
        }
      }
    }
  });

  test(`S15: documents are told apart by form, group, profile and coding, over ${protocol}`, async (context) => {
    const router = await startRouterUnderTest(context, mixedCluster);
    const seen = new Map<string, string>();
    for (const path of [
      '/api',
      '/apis',
      '/apis/apps',
      '/apis/apps/v1',
      '/apis/batch/v1',
      '/apis/apps?v1',
      '/apis?apps',
    ]) {
      for (const accept of ['application/json', aggregatedV2, aggregatedV2beta1]) {
        for (const client of ['alice', 'nobody'] as const) {
          const answer = await ask(router.port, { protocol, client, path, headers: ['accept', accept] });
          // The same question has the same answer, whoever asks, in whatever order …
          const question = `${path} ${accept}`;
          seen.set(question, seen.get(question) ?? answer.body);
          assert.equal(answer.body, seen.get(question), question);
        }
      }
    }
    // … and other questions have other answers: three forms of /api and /apis, three classic documents, one 406.
    assert.equal(new Set(seen.values()).size, 10, [...seen.keys()].join('\n'));
  });
}

test('S15: answers to resource requests are nobody else’s: each caller’s request is asked anew', async (context) => {
  const router = await startRouterUnderTest(context, mixedCluster);
  router.peer.answer = (outgoing, { headers }) => {
    outgoing.writeHead(200, { 'cache-control': 'public, max-age=3600', etag: '"same"' });
    outgoing.end(firstHeader(headers, 'x-remote-user') ?? 'nobody');
  };
  for (const client of ['alice', 'admin', 'nobody', 'alice'] as const) {
    assert.equal((await ask(router.port, { client, path: targets.peer })).body, client);
  }
  assert.equal(router.peer.requests.length, 4);
});
