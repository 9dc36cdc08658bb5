import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decisionsSection } from './decisions-section.ts';

test('a request that the local server answers for its version was not sent to a peer', async () => {
  const sentTo = async (destination: string) => {
    const decision = {
      at: 0,
      method: 'GET',
      path: '/apis/batch/v1/jobs',
      decision: 'peer',
      reason: 'PreferredVersion',
      destination,
      attempts: 1,
      status: 200,
      failure: undefined,
    } as const;
    const section = decisionsSection(
      { recentDecisions: [decision], status: { serverId: 'cp-a' } },
      new Map(),
    );
    return /class="decision">([^<]*)</.exec(String(await section))?.[1];
  };
  assert.equal(await sentTo('cp-a'), 'Local server');
  assert.equal(await sentTo('cp-b'), 'Peer');
});
