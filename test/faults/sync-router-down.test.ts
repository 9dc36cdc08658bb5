import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Snapshot } from '../../src/snapshot/format/schema.ts';
import type { Delivery, DeliveryResult, SnapshotTarget } from '../../src/sync/deliver.ts';
import { createSyncLoop } from '../../src/sync/sync-loop.ts';
import { eventually } from '../support/eventually.ts';
import { classicResponses, fakeServer } from '../support/fake-server-documents.ts';
import { manualClock } from '../support/manual-clock.ts';

/** A router that can be down, and that holds nothing when it comes back. */
function router(name: string) {
  const state: { up: boolean; held: Snapshot | undefined; asked: number } = {
    up: true,
    held: undefined,
    asked: 0,
  };
  const check = () => {
    state.asked++;
    return state.up;
  };
  const target: SnapshotTarget = {
    name,
    async put({ snapshot }: Delivery): Promise<DeliveryResult> {
      if (!check()) return { kind: 'unreachable', message: 'connection refused' };
      state.held = snapshot;
      return { kind: 'accepted' };
    },
    async holds({ snapshot }) {
      if (!check()) throw new Error('connection refused');
      return state.held === snapshot;
    },
  };
  return { state, target };
}

test('a router that is down for a minute is served within a second of its return, and the others in time meanwhile', async () => {
  const clock = manualClock();
  const down = router('down');
  const other = router('other');
  const server = fakeServer(classicResponses({ v1: ['pods'], 'batch/v1': ['jobs'] }));
  const loop = createSyncLoop({
    servers: [{ id: 'a', address: 'a.example.com:6443', documents: server }],
    targets: [down.target, other.target],
    clock,
  });
  const ending = new AbortController();
  const running = loop.run(ending.signal);
  await eventually(() => down.state.held !== undefined && other.state.held !== undefined);
  const first = other.state.held?.metadata.generation ?? 0;

  down.state.up = false;
  down.state.held = undefined;
  down.state.asked = 0;
  for (let second = 0; second < 60; second++) {
    if (second === 30) server.responses.delete('/apis/batch/v1');
    await clock.advance(1000);
  }
  await eventually(() => other.state.held?.metadata.generation === first + 1);
  assert.equal(down.state.held, undefined);
  assert.ok(down.state.asked < 200, `asked ${down.state.asked} times in a minute`);
  assert.equal(loop.status().targets[0]?.lastResult?.kind, 'unreachable');

  down.state.up = true;
  await clock.advance(1000);
  assert.equal(down.state.held, other.state.held);

  // Restarted at once, it is not even missed for a second.
  down.state.held = undefined;
  await clock.advance(1000);
  assert.equal(down.state.held, other.state.held);
  ending.abort();
  await running;
});
