import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import {
  classicResponses,
  fakeServer,
  refusesConnections,
} from '../../test/support/fake-server-documents.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import type { Snapshot } from '../snapshot/format/types.ts';
import { type AdvertisedAddresses, createAdvertisedAddresses } from './content/advertised-addresses.ts';
import type { Delivery, DeliveryResult } from './delivery/deliver.ts';
import type { Leadership } from './election/leader-election.ts';
import { createSyncLoop } from './sync-loop.ts';

/** A leadership that the test hands out and takes away. */
function switchable(initially: boolean): Leadership & { set(isLeader: boolean): void } {
  let leads = initially;
  const listeners = new Set<(isLeader: boolean) => void>();
  return {
    isLeader: () => leads,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set(isLeader) {
      leads = isLeader;
      for (const listener of listeners) listener(isLeader);
    },
  };
}

/** What a router holds: it takes what rises, from whichever sync job. */
function router() {
  const taken: Snapshot[] = [];
  const by: string[] = [];
  return {
    taken,
    by,
    held: () => taken.at(-1),
    target: (job: string) => ({
      name: 'router',
      async put({ snapshot }: Delivery): Promise<DeliveryResult> {
        const held = taken.at(-1)?.metadata.generation ?? 0;
        const { generation } = snapshot.metadata;
        if (generation < held) return { kind: 'newer-held', generation: held, message: '409' };
        if (generation > held) {
          taken.push(snapshot);
          by.push(job);
        }
        return { kind: 'accepted' };
      },
    }),
  };
}

const responses = classicResponses({ v1: ['pods'], 'batch/v1': ['jobs'] });

function job(
  name: string,
  leadership: Leadership,
  { target, held }: ReturnType<typeof router>,
  servers: Readonly<Record<string, ReturnType<typeof fakeServer>>>,
  start: number,
  advertised?: AdvertisedAddresses,
) {
  const clock = manualClock(start);
  const controller = new AbortController();
  const loop = createSyncLoop({
    servers: Object.entries(servers).map(([id, documents]) => ({ id, address: `${id}:6443`, documents })),
    targets: [target(name)],
    leadership,
    adopt: async () => held(),
    advertised,
    clock,
  });
  const running = loop.run(controller.signal);
  return {
    loop,
    clock,
    async stop() {
      controller.abort();
      await running;
    },
  };
}

const noon = Date.UTC(2026, 0, 31, 12);

test('a standby reads and delivers nothing, and becomes leader at once with a rising generation', async () => {
  const held = router();
  const leadershipOfA = switchable(true);
  const leadershipOfB = switchable(false);
  const serverForA = fakeServer(responses);
  const serverForB = fakeServer(responses);
  // Its clock is an hour behind: a generation of its own making would be lower.
  const a = job('a', leadershipOfA, held, { server: serverForA }, noon);
  const b = job('b', leadershipOfB, held, { server: serverForB }, noon - 3_600_000);
  await eventually(() => held.taken.length === 1 && b.loop.status().lastRoundAt !== undefined);
  assert.deepEqual(held.by, ['a']);
  assert.equal(b.loop.status().leader, false);
  assert.equal(b.loop.status().generation, undefined);
  assert.deepEqual(
    b.loop.status().servers.map(({ state }) => state),
    ['current'],
  );

  leadershipOfA.set(false);
  leadershipOfB.set(true);
  // No clock is moved: nothing waits for the next round.
  await eventually(() => b.loop.status().generation !== undefined);
  assert.equal(b.loop.status().generation, held.taken[0]?.metadata.generation);
  assert.equal(held.taken.length, 1);

  for (const [path, response] of Object.entries(classicResponses({ v1: ['pods'], 'batch/v2': ['jobs'] }))) {
    serverForB.responses.set(path, response);
  }
  serverForB.responses.delete('/apis/batch/v1');
  await eventually(() => b.clock.sleeping.includes(1000));
  await b.clock.advance(1000);
  await eventually(() => held.taken.length === 2);
  assert.deepEqual(held.by, ['a', 'b']);
  assert.equal(held.taken[1]?.metadata.generation, (held.taken[0]?.metadata.generation ?? 0) + 1);
  await Promise.all([a.stop(), b.stop()]);
});

test('a new leader keeps the resources of a server that it could never read', async () => {
  const held = router();
  const leadershipOfA = switchable(true);
  const leadershipOfB = switchable(false);
  const reachable = { x: fakeServer(responses), y: fakeServer(responses) };
  const cutOff = {
    x: fakeServer(responses),
    y: fakeServer({ '/api': refusesConnections, '/apis': refusesConnections }),
  };
  const a = job('a', leadershipOfA, held, reachable, noon);
  const b = job('b', leadershipOfB, held, cutOff, noon);
  await eventually(() => held.taken.length === 1 && b.loop.status().lastRoundAt !== undefined);
  leadershipOfA.set(false);
  leadershipOfB.set(true);
  await eventually(() => held.taken.length === 2);
  const [before, after] = held.taken;
  assert.equal(after?.servers[1]?.serves, before?.servers[1]?.serves);
  assert.equal(after?.servers[1]?.stale, true);
  await Promise.all([a.stop(), b.stop()]);
});

test('a new leader uses the advertised addresses of the last leader, not those of its own earlier term', async () => {
  const held = router();
  const leadershipOfA = switchable(true);
  const leadershipOfB = switchable(false);
  const servers = { server: fakeServer(responses) };
  const heardBy = (address: string) => {
    const advertised = createAdvertisedAddresses(['router']);
    advertised.heard('router', { serverId: 'server', address, by: 'peer-advertise-ip' });
    return advertised;
  };
  const a = job('a', leadershipOfA, held, servers, noon, heardBy('10.1.0.2:7443'));
  // It led once, and the router has moved since.
  const b = job('b', leadershipOfB, held, servers, noon, heardBy('10.1.0.9:7443'));
  await eventually(() => held.taken.length === 1 && b.loop.status().lastRoundAt !== undefined);
  leadershipOfA.set(false);
  leadershipOfB.set(true);
  await eventually(() => b.loop.status().generation !== undefined);
  assert.deepEqual(
    held.taken.map(({ servers: [server] }) => server?.advertised?.address),
    ['10.1.0.2:7443'],
  );
  await Promise.all([a.stop(), b.stop()]);
});

test('a new leader delivers even if what routers hold cannot be read', async () => {
  const leadership = switchable(false);
  const { target, taken } = router();
  const controller = new AbortController();
  const loop = createSyncLoop({
    servers: [{ id: 'x', address: 'x:6443', documents: fakeServer(responses) }],
    targets: [target('a')],
    leadership,
    adopt: async () => assert.fail('no router responds'),
    clock: manualClock(noon),
  });
  const running = loop.run(controller.signal);
  await eventually(() => loop.status().lastRoundAt !== undefined);
  leadership.set(true);
  await eventually(() => taken.length === 1);
  controller.abort();
  await running;
});

test('a lead that ends and returns while a sync job takes it is taken anew', async () => {
  const leadership = switchable(false);
  const adoptions: PromiseWithResolvers<undefined>[] = [];
  const controller = new AbortController();
  const loop = createSyncLoop({
    servers: [{ id: 'x', address: 'x:6443', documents: fakeServer(responses) }],
    targets: [],
    leadership,
    adopt() {
      const adoption = Promise.withResolvers<undefined>();
      adoptions.push(adoption);
      return adoption.promise;
    },
    clock: manualClock(noon),
  });
  const running = loop.run(controller.signal);
  await eventually(() => loop.status().lastRoundAt !== undefined);
  leadership.set(true);
  await eventually(() => adoptions.length === 1);
  leadership.set(false);
  leadership.set(true);
  adoptions[0]?.resolve(undefined);
  await eventually(() => adoptions.length === 2);
  adoptions[1]?.resolve(undefined);
  controller.abort();
  await running;
});

test('a sync job that has lost the lead delivers nothing any more, whatever it finds', async () => {
  const held = router();
  const leadership = switchable(true);
  const server = fakeServer(responses);
  const { loop, clock, stop } = job('a', leadership, held, { server }, noon);
  await eventually(() => held.taken.length === 1);
  leadership.set(false);
  server.responses.set('/api/v1', { kind: 'APIResourceList', groupVersion: 'v1', resources: [] });
  await clock.advance(5_000);
  await eventually(() => loop.status().leader === false);
  assert.equal(held.taken.length, 1);
  await stop();
});
