import assert from 'node:assert/strict';
import { peerAssertionHeader } from '../../../src/request/headers.ts';
import { speaker } from '../../support/assertions.ts';
import { type AssertedFor, assertedBy, assertion, user } from '../callers.ts';
import { targets } from '../cluster.ts';
import type { CaseGroup, World } from '../conformance-case.ts';
import { front } from '../credentials.ts';
import { assertStatus } from '../status-answer.ts';
import { toldIdentity } from '../told-identity.ts';

const jane = user('jane');
const target = `${targets.peer3}?limit=500`;
const thief = await speaker('front');
const otherIssuer = { ...front, issuer: 'another-router' };
const minutes = 60_000;

export const assertions: CaseGroup = {
  title: 'Signed assertions of edge routers',
  cases: [
    {
      id: 'assertions/believed-once',
      needs: ['assertions'],
      rule: 'An assertion is believed once: played back it is a 401',
      citation: 'decisions/0005-assertions-are-bound-to-one-request.md; RFC 7519 section 4.1.7',
      async run(world) {
        const headers = await assertedBy(jane, { target });
        assert.equal((await world.ask({ target, headers })).status, 200);
        const { peer3 } = world.cluster;
        assert.equal((await toldIdentity(peer3, peer3.only()))?.user, 'jane');
        const { message } = assertStatus(await world.ask({ target, headers }), 401, 'Unauthorized');
        world.agree('401 for a replay', message);
        assert.equal(peer3.requests.length, 1);
      },
    },
    {
      id: 'assertions/refused',
      needs: ['assertions'],
      rule: 'Forged, foreign, moved to another request, early or expired, it is the same 401 with the same reason everywhere',
      citation: 'docs/guides/edge.md',
      async run(world) {
        for (const [what, request] of Object.entries(misused)) {
          await refused(world, what, [await assertion(jane, { target, ...request })]);
        }
        const good = await assertion(jane, { target });
        const [head = '', payload = '', signature = ''] = good.split('.');
        const altered = Buffer.from(
          Buffer.from(payload, 'base64url').toString().replace('"jane"', '"root"'),
        ).toString('base64url');
        const none = Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url');
        await refused(world, 'an altered user', [`${head}.${altered}.${signature}`]);
        await refused(world, 'alg none', [`${none}.${payload}.`]);
        await refused(world, 'no signature', [`${head}.${payload}.`]);
        await refused(world, 'no assertion at all', ['root']);
      },
    },
    {
      id: 'assertions/two',
      needs: ['assertions'],
      rule: 'So are two of them on one request',
      citation: 'docs/guides/edge.md',
      async run(world) {
        const two = [await assertion(jane, { target }), await assertion(user('root'), { target })];
        const headers = two.flatMap((text) => [peerAssertionHeader, text]);
        assertStatus(await world.ask({ target, headers }), 401, 'Unauthorized');
        assert.deepEqual(world.cluster.peer3.requests, []);
      },
    },
    {
      id: 'assertions/nothing-instead',
      needs: ['assertions'],
      rule: 'A refused one ends the request, whatever other credentials it has',
      citation: 'docs/guides/edge.md',
      async run(world) {
        const headers = [peerAssertionHeader, 'forged', 'Authorization', 'Bearer opaque'];
        assertStatus(await world.ask({ target, headers }), 401, 'Unauthorized');
        assert.deepEqual(world.cluster.peer3.requests, []);
      },
    },
  ],
};

const misused: Readonly<Record<string, Partial<AssertedFor>>> = {
  'signed with a key that is not pinned': { by: thief },
  'of an issuer that the key does not speak for': { by: otherIssuer },
  'for another path': { target: targets.local },
  'for another query': { target: targets.peer3 },
  'for another method': { method: 'DELETE' },
  'for another destination': { destinationId: 'peer-3' },
  'with a reroute mark that the request lacks': { rerouted: true },
  expired: { at: Date.now() - 10 * minutes },
  'not valid yet': { at: Date.now() + 10 * minutes },
};

async function refused(world: World, what: string, texts: readonly string[]): Promise<void> {
  const headers = texts.flatMap((text) => [peerAssertionHeader, text]);
  const { message } = assertStatus(await world.ask({ target, headers }), 401, 'Unauthorized');
  assert.match(message, /^Unauthorized: the peer assertion /, what);
  world.agree(`401 for an assertion: ${what}`, message);
  assert.deepEqual(world.cluster.peer3.requests, [], what);
}
