import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { clusterStates, leaseOf, startOfTime } from '../../../test/support/clusters/cluster-states.ts';
import { placeOf, placeOfServer } from '../documents/endpoints.ts';
import type { ClusterState } from './cluster-state.ts';

const hosts: readonly string[] = ['cp-a', 'cp-b', 'cp-c'];
const addressOfHost = (host: string) => `10.0.0.${hosts.indexOf(host) + 1}:6443`;

/** One host at one moment. */
const hostAtMoment = fc.record({
  lease: fc.constantFrom('none', 'newer', 'older', 'both'),
  annotated: fc.boolean(),
  endpoint: fc.boolean(),
  identified: fc.boolean(),
  up: fc.boolean(),
  /** Milliseconds since the last renewal: fresh, missed some, expired. */
  renewalAge: fc.constantFrom(0, 45_000, 4_000_000),
  incarnation: fc.constantFrom('1', '2'),
});

const moment = fc.record({
  hosts: fc.tuple(hostAtMoment, hostAtMoment, hostAtMoment),
  leasesKnown: fc.boolean(),
  endpointsKnown: fc.boolean(),
  /** Milliseconds since the moment before. */
  passed: fc.constantFrom(0, 1000, 4000, 60_000, 3_700_000),
  listed: fc.boolean(),
  listedRead: fc.boolean(),
});

type Moment = typeof moment extends fc.Arbitrary<infer Value> ? Value : never;

function lookAt(
  at: number,
  { hosts: atHosts, leasesKnown, endpointsKnown, listed, listedRead }: Moment,
  before: ClusterState,
) {
  const upAt = new Map(atHosts.map(({ up }, index) => [placeOf(addressOfHost(hosts[index] ?? '')), up]));
  const read = new Map(before.servers.map((server) => [server.id, placeOfServer(server)]));
  const leases = atHosts.flatMap(({ lease, annotated, renewalAge, incarnation }, index) => {
    const hostname = hosts[index] ?? '';
    const ids = [
      ...(lease === 'newer' || lease === 'both' ? [`apiserver-${hostname}`] : []),
      ...(lease === 'older' || lease === 'both' ? [`kube-apiserver-${hostname}`] : []),
    ];
    return ids.map((id) =>
      leaseOf(id, {
        hostname,
        address: annotated && id.startsWith('apiserver-') ? addressOfHost(hostname) : undefined,
        renewedAt: startOfTime + at - renewalAge,
        holderIdentity: `${id}_${incarnation}`,
      }),
    );
  });
  const endpoints = hosts.filter((_, index) => atHosts[index]?.endpoint === true).map(addressOfHost);
  const endpointNames = Object.fromEntries(
    hosts
      .filter((_, index) => atHosts[index]?.identified === true)
      .map((host) => [addressOfHost(host), [host]]),
  );
  const readable = Object.fromEntries(
    [...read].map(([id, place]) => [id, place !== undefined && upAt.get(place) === true]),
  );
  const readableNow: Readonly<Record<string, boolean>> = {
    ...readable,
    'cp-a': listedRead && atHosts[0].up,
  };
  return {
    at,
    listed: listed ? [{ id: 'cp-a', url: `https://${addressOfHost('cp-a')}` }] : [],
    leases: leasesKnown ? leases : undefined,
    endpoints: endpointsKnown ? endpoints : undefined,
    endpointNames,
    readable: readableNow,
  };
}

const history = fc.array(moment, { minLength: 1, maxLength: 30 });

function play(
  moments: readonly Moment[],
  check: (before: ClusterState, after: ClusterState, look: ReturnType<typeof lookAt>) => void,
) {
  const seeds = [{ id: 'apiserver-cp-a', address: addressOfHost('cp-a') }];
  const { look } = clusterStates(seeds);
  let before: ClusterState = { servers: seeds, warnings: [] };
  let at = 0;
  for (const given of moments) {
    at += given.passed;
    const looked = lookAt(at, given, before);
    const after = look(looked);
    check(before, after, looked);
    before = after;
  }
}

test('no sequence of events removes a server that can be read', () => {
  fc.assert(
    fc.property(history, (moments) => {
      play(moments, (before, after, { readable }) => {
        for (const server of before.servers) {
          if (readable[server.id] !== true) continue;
          const place = placeOfServer(server);
          const inPlace = after.servers.filter((other) => placeOfServer(other) === place);
          // Under its ID or under one that was read there: else the snapshot would lack it for a round.
          const isThere = inPlace.some(
            ({ id, addressSource }) =>
              id === server.id || readable[id] === true || addressSource === 'listed',
          );
          assert.ok(isThere, `${server.id} is gone`);
        }
      });
    }),
    { numRuns: 300 },
  );
});

test('no sequence of events removes a server whose Lease is held, unless another was read in its place', () => {
  fc.assert(
    fc.property(history, (moments) => {
      play(moments, (before, after, { readable, leases, listed, at }) => {
        const held = leases?.filter(({ renewedAt }) => startOfTime + at - renewedAt < 30_000) ?? [];
        const ids = new Set(after.servers.map(({ id }) => id));
        const readablePlaces = new Set(
          after.servers
            .filter(({ id, addressSource }) => readable[id] === true || addressSource === 'listed')
            .map(placeOfServer),
        );
        for (const server of before.servers) {
          if (!held.some(({ id }) => id === server.id)) continue;
          const place = placeOfServer(server);
          // One without an address can turn out to be the one that is listed by hand.
          const isReplaced = place === undefined ? listed.length > 0 : readablePlaces.has(place);
          // One that has departed does not come back under its Lease's name where it is listed by hand by now.
          const isListed = after.servers.some(
            (each) => each.url !== undefined && placeOfServer(each) === place,
          );
          const hasDeparted = server.departedAt !== undefined;
          assert.ok(ids.has(server.id) || isReplaced || (hasDeparted && isListed), `${server.id} is gone`);
        }
      });
    }),
    { numRuns: 300 },
  );
});

test('each ID is there once, and whatever is known of the servers ends when nothing speaks for them', () => {
  fc.assert(
    fc.property(history, (moments) => {
      let last: ClusterState = { servers: [], warnings: [] };
      play(moments, (_before, after) => {
        const ids = after.servers.map(({ id }) => id);
        assert.equal(new Set(ids).size, ids.length);
        last = after;
      });
      const { look } = clusterStates(last.servers);
      const readable = Object.fromEntries(last.servers.map(({ id }) => [id, false]));
      look({ readable, at: 1e9 });
      const departed = look({ readable, at: 1e9 + 5000 }).servers;
      assert.ok(departed.every(({ departedAt }) => departedAt !== undefined));
      assert.deepEqual(look({ readable, at: 1e9 + 5000 + 900_000 }).servers, []);
    }),
    { numRuns: 300 },
  );
});
