import assert from 'node:assert/strict';
import { firstHeader } from '../../../src/apimachinery/raw-headers.ts';
import { user } from '../callers.ts';
import { targets } from '../cluster.ts';
import type { CaseGroup, ConformanceCase, World } from '../conformance-case.ts';

const alice = user('alice');
const snapshot = 'several-versions';
const citation = 'docs/guides/preferred-version.md';

/** Rule 3a, with servers of two minor versions. The majority is 1.36, the local server is older. */
export const severalVersions: CaseGroup = {
  title: 'Servers of several versions',
  cases: [
    {
      id: 'versions/differing',
      rule: 'What servers understand differently goes to the version that most of them have, reads and writes alike',
      citation,
      snapshot,
      async run(world) {
        for (const method of ['GET', 'POST', 'DELETE']) {
          const response = await world.ask({ ...requestOf(method), target: targets.failing }, alice);
          assert.equal(response.status, 200);
          assert.deepEqual(arrivedAt(world), { local: 0, peers: 1 }, method);
          assert.equal(firstHeader(response.headers, 'warning'), undefined);
          world.cluster.reset();
        }
      },
    },
    {
      id: 'versions/same',
      rule: 'What they understand alike stays with the local server',
      citation,
      snapshot,
      async run(world) {
        await world.ask({ target: targets.local }, alice);
        assert.deepEqual(arrivedAt(world), { local: 1, peers: 0 });
      },
    },
    {
      id: 'versions/fallback',
      rule: 'When no server of that version can be reached, another one responds, and a Warning says so',
      citation: `${citation}; RFC 7234 section 5.5`,
      snapshot,
      async run(world) {
        const response = await world.ask({ target: targets.dead }, alice);
        assert.equal(response.status, 200);
        assert.deepEqual(arrivedAt(world), { local: 1, peers: 0 });
        assert.match(firstHeader(response.headers, 'warning') ?? '', /^299 .*version 1\.31 responded/);
      },
    },
  ] satisfies ConformanceCase[],
};

function requestOf(method: string) {
  return method === 'POST' ? { method, body: '{}' } : { method };
}

function arrivedAt({ cluster }: World) {
  const { local, peer2, peer3 } = cluster;
  return { local: local.requests.length, peers: peer2.requests.length + peer3.requests.length };
}
