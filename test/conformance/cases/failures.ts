import assert from 'node:assert/strict';
import { firstHeader } from '../../../src/apimachinery/raw-headers.ts';
import { user } from '../callers.ts';
import { targets } from '../cluster.ts';
import type { CaseGroup, WholeAnswer, World } from '../conformance-case.ts';
import { assertStatus } from '../status-answer.ts';

const alice = user('alice');

export const failures: CaseGroup = {
  title: 'Servers that do not respond',
  cases: [
    {
      id: 'failures/unreachable',
      rule: 'Where no server can be reached: a 503 Status with Retry-After, and no address in it',
      citation: 'design, The decision; RFC 9110 section 10.2.3',
      async run(world) {
        const answer = await world.ask({ target: targets.dead }, alice);
        assertUnavailable(world, answer);
      },
    },
    {
      id: 'failures/without-address',
      rule: 'Peers serve it and none has an address: the 503 Status that Kubernetes words so',
      citation: 'kubernetes pkg/util/peerproxy/peerproxy_handler.go',
      async run(world) {
        const answer = await world.ask({ target: targets.withoutAddress }, alice);
        const { message } = assertUnavailable(world, answer);
        assert.equal(message, 'Error getting ip and port info of the remote server while proxying');
      },
    },
    {
      id: 'failures/read-second-try',
      rule: 'A read that one server takes and does not respond to is tried at one other, and nowhere else',
      citation: 'RFC 9110 section 9.2.2',
      async run(world) {
        breakAllOff(world);
        const answer = await world.ask({ target: targets.failing }, alice);
        assertUnavailable(world, answer);
        const [first, second] = world.cluster.failing;
        assert.deepEqual([first.requests.length, second.requests.length], [1, 1]);
      },
    },
    {
      id: 'failures/write-once',
      rule: 'A write that may have arrived is never sent again, and its 503 asks nobody to repeat it',
      citation: 'RFC 9110 section 9.2.2; k8s.io/client-go rest/with_retry.go',
      async run(world) {
        for (const [method, body] of [
          ['POST', '{}'],
          ['DELETE', undefined],
          ['PATCH', '{}'],
        ] as const) {
          world.cluster.reset();
          breakAllOff(world);
          const request = { target: targets.failing, method, ...(body === undefined ? {} : { body }) };
          const { message } = assertUnavailable(world, await world.ask(request, alice), 'never');
          assert.match(message, /may have been carried out/);
          const [first, second] = world.cluster.failing;
          assert.equal(first.requests.length + second.requests.length, 1, method);
        }
      },
    },
    {
      id: 'failures/not-known-yet',
      rule: 'While there has been no snapshot the router is alive and not ready',
      citation: 'kubernetes.io: Kubernetes API health endpoints',
      snapshot: 'none',
      async run(world) {
        assert.equal((await world.ask({ target: '/livez' })).status, 200);
        assert.ok((await world.ask({ target: '/readyz' })).status >= 500);
      },
    },
    {
      id: 'failures/ready',
      rule: 'With one it is ready, which everybody may ask',
      citation: 'kubernetes.io: Kubernetes API health endpoints',
      async run(world) {
        assert.equal((await world.ask({ target: '/readyz' })).status, 200);
        for (const { requests } of world.cluster.all) assert.deepEqual(requests, []);
      },
    },
  ],
};

function breakAllOff({ cluster }: World): void {
  for (const peer of cluster.failing) peer.script = (_request, answer) => answer.breakOff();
}

/** @param again whether the client is asked to repeat the request: client-go does so for writes, too. */
function assertUnavailable(
  { cluster }: World,
  answer: WholeAnswer,
  again: 'later' | 'never' = 'later',
): { readonly message: string } {
  const { message, details } = assertStatus(answer, 503, 'ServiceUnavailable');
  const retryAfter = firstHeader(answer.headers, 'retry-after');
  assert.equal(retryAfter, details?.retryAfterSeconds?.toString());
  assert.equal(retryAfter !== undefined, again === 'later');
  const shown = answer.body + answer.headers.join();
  for (const address of [...Object.values(cluster.addresses), cluster.deadAddress, 'ECONN']) {
    assert.ok(!shown.includes(address), `${address} is nobody’s business`);
  }
  return { message };
}
