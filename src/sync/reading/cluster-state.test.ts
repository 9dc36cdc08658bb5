import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  clusterStates,
  leaseOf,
  placesOf,
  startOfTime,
} from '../../../test/support/clusters/cluster-states.ts';
import type { ClusterState } from './cluster-state.ts';

const a = 'apiserver-hxhuy3rsmzqt3nvdbfa4wlpycq';
const olderA = 'kube-apiserver-hxhuy3rsmzqt3nvdbfa4wlpycq';
const b = 'apiserver-nxibzygiy5v5qmcjmernh6erfe';
const hour = 3_600_000;
const grace = 900_000;

/** When servers departed, after the start, by ID. */
function departedOf({ servers }: ClusterState): Record<string, number> {
  return Object.fromEntries(
    servers.flatMap(({ id, departedAt }) =>
      departedAt === undefined ? [] : [[id, departedAt - startOfTime]],
    ),
  );
}

describe('a server is found', () => {
  it('by the address in its Lease', () => {
    const { look } = clusterStates();
    const state = look({ leases: [leaseOf(a, { address: '10.0.0.1:6443', hostname: 'cp-a' })] });
    assert.deepEqual(state.servers, [
      {
        id: a,
        address: '10.0.0.1:6443',
        addressSource: 'lease',
        hostname: 'cp-a',
        holderIdentity: `${a}_1`,
        missingSince: undefined,
      },
    ]);
  });

  it('by the endpoint whose host names lead to its Lease', () => {
    const { look } = clusterStates();
    const state = look({
      leases: [leaseOf(a), leaseOf(b)],
      endpoints: ['10.0.0.1:6443', '10.0.0.2:6443'],
      endpointNames: { '10.0.0.1:6443': ['kubernetes', a], '10.0.0.2:6443': [b] },
    });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6443`, `${b}@10.0.0.2:6443`]);
    assert.deepEqual(state.warnings, []);
  });

  it('by its endpoint, if nothing leads to a Lease', () => {
    const { look } = clusterStates();
    const state = look({ leases: [leaseOf(a)], endpoints: ['10.0.0.1:6443'] });
    assert.deepEqual(placesOf(state), ['endpoint-10-0-0-1-6443@10.0.0.1:6443']);
    assert.match(state.warnings.join(), new RegExp(`no address is known for identity Lease ${a}`));
  });

  it('and a Lease whose name cannot be the ID of a server is left out, without the others', () => {
    const { look } = clusterStates();
    const odd = leaseOf('No Server', { address: '10.0.0.2:6443' });
    const state = look({ leases: [odd, leaseOf(a, { address: '10.0.0.1:6443' })] });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6443`]);
  });

  it('without an address, if StorageVersions say what it serves', () => {
    const { look } = clusterStates();
    const state = look({ leases: [leaseOf(a), leaseOf(b)], hasStorageVersions: (id) => id === a });
    assert.deepEqual(placesOf(state), [`${a}@nowhere`]);
  });

  it('once, by however many ways', () => {
    const { look } = clusterStates();
    const state = look({
      leases: [leaseOf(a, { address: '[fd00::1]:6443' })],
      endpoints: ['[FD00::1]:6443'],
      endpointNames: { '[FD00::1]:6443': [a] },
    });
    assert.deepEqual(placesOf(state), [`${a}@[fd00::1]:6443`]);
  });

  it('not by a Lease without a holder', () => {
    const { look } = clusterStates();
    const state = look({ leases: [leaseOf(a, { address: '10.0.0.1:6443', holderIdentity: '' })] });
    assert.deepEqual(state.servers, []);
  });
});

describe('no address is guessed', () => {
  it('from one certificate that all servers share', () => {
    const { look } = clusterStates();
    const shared = { '10.0.0.1:6443': [a, b], '10.0.0.2:6443': [a, b] };
    const state = look({
      leases: [leaseOf(a), leaseOf(b)],
      endpoints: ['10.0.0.1:6443', '10.0.0.2:6443'],
      endpointNames: shared,
    });
    assert.deepEqual(placesOf(state), [
      'endpoint-10-0-0-1-6443@10.0.0.1:6443',
      'endpoint-10-0-0-2-6443@10.0.0.2:6443',
    ]);
  });

  it('if two endpoints lead to the same Lease', () => {
    const { look } = clusterStates();
    const state = look({
      leases: [leaseOf(a)],
      endpoints: ['10.0.0.1:6443', '10.0.0.2:6443'],
      endpointNames: { '10.0.0.1:6443': [a], '10.0.0.2:6443': [a] },
    });
    assert.ok(placesOf(state).every((place) => place.startsWith('endpoint-')));
  });
});

describe('a server listed by hand', () => {
  const listed = [{ id: 'cp-a', url: 'https://10.0.0.1:6443' }];

  it('keeps its ID and takes the host and the process from its Lease', () => {
    const { look } = clusterStates();
    const state = look({
      listed,
      leases: [leaseOf(a, { address: '10.0.0.1:6443', hostname: 'host-a' })],
      endpoints: ['10.0.0.1:6443', '10.0.0.2:6443'],
    });
    assert.deepEqual(placesOf(state), ['cp-a@https://10.0.0.1:6443', 'endpoint-10-0-0-2-6443@10.0.0.2:6443']);
    assert.deepEqual(state.servers[0], {
      ...listed[0],
      hostname: 'host-a',
      holderIdentity: `${a}_1`,
    });
  });

  it('is that of a Lease of the same ID, and of one that its certificate leads to', () => {
    const { look } = clusterStates();
    const state = look({
      listed: [...listed, { id: b, address: 'b.example.com:6443' }],
      leases: [leaseOf(a), leaseOf(b, { address: '10.9.9.9:1' })],
      endpoints: ['10.0.0.1:6443'],
      endpointNames: { '10.0.0.1:6443': [a] },
    });
    assert.deepEqual(placesOf(state), [`${b}@b.example.com:6443`, 'cp-a@https://10.0.0.1:6443']);
    assert.deepEqual(
      state.servers.map(({ holderIdentity }) => holderIdentity),
      [`${b}_1`, `${a}_1`],
    );
    assert.deepEqual(state.warnings, []);
  });

  it('takes over from the server that was found at its address, once it was read', () => {
    const { look } = clusterStates();
    look({ endpoints: ['10.0.0.1:6443'] });
    const found = 'endpoint-10-0-0-1-6443@10.0.0.1:6443';
    const readable = { 'endpoint-10-0-0-1-6443': true };
    const own = 'cp-a@https://10.0.0.1:6443';
    assert.deepEqual(placesOf(look({ listed, endpoints: ['10.0.0.1:6443'], readable })), [own, found]);
    const both = { ...readable, 'cp-a': true };
    assert.deepEqual(placesOf(look({ listed, endpoints: ['10.0.0.1:6443'], readable: both })), [own]);
  });
});

describe('a server stays', () => {
  const leases = [leaseOf(a, { address: '10.0.0.1:6443' })];
  const down = { [a]: false };

  it('down for as long as its Lease is there', () => {
    const { look } = clusterStates();
    look({ leases });
    assert.equal(look({ leases, readable: down, at: hour / 2 }).servers.length, 1);
    assert.equal(look({ leases, readable: down, at: hour - 60_000 }).servers.length, 1);
  });

  it('down for as long as its endpoint is there', () => {
    const { look } = clusterStates();
    look({ leases, endpoints: ['10.0.0.1:6443'] });
    const state = look({ endpoints: ['10.0.0.1:6443'], readable: down, at: 60_000 });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6443`]);
  });

  it('while it can be read, though its Lease was removed', () => {
    const { look } = clusterStates();
    look({ leases });
    assert.equal(look({ readable: { [a]: true }, at: 60_000 }).servers.length, 1);
    // The server is not even read yet.
    assert.equal(look({ at: 120_000 }).servers.length, 1);
  });

  it('for a short time when its Lease is gone and it cannot be read: it may only be restarting', () => {
    const { look } = clusterStates();
    look({ leases });
    assert.equal(look({ readable: down, at: 1000 }).servers.length, 1);
    assert.equal(look({ readable: down, at: 5999 }).servers.length, 1);
    assert.equal(look({ leases, readable: down, at: 6500 }).servers.length, 1);
    assert.equal(look({ readable: down, at: 7000 }).servers.length, 1);
    assert.deepEqual(departedOf(look({ readable: down, at: 12_000 })), { [a]: 12_000 });
  });

  it('whatever happens, while Leases or endpoints cannot be listed', () => {
    const known = [{ id: a, address: '10.0.0.1:6443' }];
    for (const unknown of [{ leases: undefined }, { endpoints: undefined }]) {
      const { look } = clusterStates(known);
      assert.equal(look({ ...unknown, readable: down, at: hour }).servers.length, 1);
    }
  });

  it('from an earlier run, until Leases and endpoints are known and it is silent', () => {
    const { look } = clusterStates([{ id: a, url: 'https://10.0.0.1:6443' }]);
    assert.deepEqual(placesOf(look({ leases: undefined })), [`${a}@https://10.0.0.1:6443`]);
    assert.equal(look({ readable: down }).servers.length, 1);
    assert.deepEqual(departedOf(look({ readable: down, at: 5000 })), { [a]: 5000 });
  });
});

describe('a Lease that is no longer renewed', () => {
  const lease = leaseOf(a, { address: '10.0.0.1:6443' });
  const afterwards = { leases: [lease], at: hour + 120_000 };

  it('expires after its duration, for a server that cannot be read', () => {
    const { look } = clusterStates();
    look({ leases: [lease] });
    assert.equal(look({ ...afterwards, readable: { [a]: false } }).servers.length, 1);
    const later = { ...afterwards, at: afterwards.at + 5000 };
    assert.deepEqual(departedOf(look({ ...later, readable: { [a]: false } })), { [a]: later.at });
    const graceOver = { ...later, at: later.at + grace, readable: { [a]: false } };
    assert.deepEqual(look(graceOver).servers, []);
    // The server does not come back for one more try every few seconds.
    assert.deepEqual(look({ ...graceOver, at: graceOver.at + 1000 }).servers, []);
  });

  it('does not affect a server that can be read', () => {
    const { look } = clusterStates();
    look({ leases: [lease] });
    assert.equal(look({ ...afterwards, readable: { [a]: true } }).servers.length, 1);
  });

  it('brings its server back when it is renewed', () => {
    const { look } = clusterStates();
    assert.deepEqual(look(afterwards).servers, [], 'it names no server that is not known');
    const renewed = [{ ...lease, renewedAt: startOfTime + afterwards.at }];
    assert.equal(look({ leases: renewed, at: afterwards.at + 6000 }).servers.length, 1);
  });
});

describe('a server that has departed', () => {
  const lease = leaseOf(a, { address: '10.0.0.1:6443', hostname: 'cp-a' });
  const silent = { [a]: false };

  /** Its Lease went at 0, and it has been silent since: it departed at 5,000. */
  function afterDeparture() {
    const states = clusterStates();
    states.look({ leases: [lease] });
    states.look({ readable: silent });
    assert.deepEqual(departedOf(states.look({ readable: silent, at: 5000 })), { [a]: 5000 });
    return states;
  }

  it('is known until the grace period ends', () => {
    const { look } = afterDeparture();
    const state = look({ readable: silent, at: 5000 + grace - 1 });
    assert.deepEqual(departedOf(state), { [a]: 5000 });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6443`]);
    assert.equal(state.servers[0]?.hostname, 'cp-a');
    assert.deepEqual(look({ readable: silent, at: 5000 + grace }).servers, []);
  });

  it('is known while Leases or endpoints cannot be listed', () => {
    const { look } = afterDeparture();
    const late = { readable: silent, at: 5000 + 2 * grace };
    assert.deepEqual(departedOf(look({ ...late, isUpToDate: false })), { [a]: 5000 });
    assert.deepEqual(look(late).servers, []);
  });

  it('is there again as soon as it can be read', () => {
    const { look } = afterDeparture();
    const state = look({ readable: { [a]: true }, at: 6000 });
    assert.deepEqual([departedOf(state), state.servers.length], [{}, 1]);
  });

  it('is there again when its Lease is and the sync job alone cannot read it', () => {
    const { look } = afterDeparture();
    const named = { leases: [lease], readable: silent };
    assert.deepEqual(departedOf(look({ ...named, at: 6000 })), { [a]: 5000 }, 'it will soon be readable');
    assert.deepEqual(departedOf(look({ ...named, at: 10_999 })), { [a]: 5000 });
    const state = look({ ...named, at: 11_000 });
    assert.deepEqual([departedOf(state), state.servers.length], [{}, 1]);
  });

  for (const [where, other] of [
    ['on its host', { hostname: 'cp-a', address: '10.0.0.9:6443' }],
    ['at its address', { hostname: 'elsewhere', address: '10.0.0.1:6443' }],
  ] as const) {
    it(`is removed at once when a server with another ID was read ${where}`, () => {
      const { look } = afterDeparture();
      const named = { leases: [leaseOf(b, other)], at: 6000 };
      assert.deepEqual(
        departedOf(look({ ...named, readable: silent })),
        { [a]: 5000 },
        'not before it was read',
      );
      const state = look({ ...named, readable: { ...silent, [b]: true } });
      assert.deepEqual(
        state.servers.map(({ id }) => id),
        [b],
      );
    });
  }

  it('stays departed after a restart of the sync job, from the time in the snapshot', () => {
    const known = { id: a, address: '10.0.0.1:6443', departedAt: startOfTime - 600_000 };
    const { look } = clusterStates([known]);
    assert.deepEqual(departedOf(look({})), { [a]: -600_000 });
    assert.deepEqual(look({ readable: silent, at: 300_000 }).servers, []);
    // By a clock that was ahead.
    const ahead = clusterStates([{ ...known, departedAt: startOfTime + hour }]);
    assert.deepEqual(departedOf(ahead.look({})), { [a]: 0 });
  });

  it('is removed at once without a grace period', () => {
    const { look } = clusterStates();
    look({ leases: [lease] });
    const timing = { departure: 5000, grace: 0 };
    look({ readable: silent, timing });
    assert.deepEqual(look({ readable: silent, at: 5000, timing }).servers, []);
  });

  it('waits with all the others, when all have', () => {
    const { look } = clusterStates();
    look({ leases: [lease, leaseOf(b, { address: '10.0.0.2:6443' })] });
    const all = { [a]: false, [b]: false };
    look({ readable: all });
    assert.deepEqual(departedOf(look({ readable: all, at: 5000 })), { [a]: 5000, [b]: 5000 });
  });
});

describe('an upgrade that changes the ID of a host', () => {
  const endpoint = { endpoints: ['10.0.0.1:6443'], endpointNames: { '10.0.0.1:6443': ['cp-a'] } };

  it('leaves no moment without the server', () => {
    const { look } = clusterStates();
    const older = leaseOf(olderA, { hostname: 'cp-a' });
    look({ ...endpoint, leases: [older] });
    const newer = leaseOf(a, { hostname: 'cp-a', renewedAt: older.renewedAt + 10_000 });
    // The old process may still be there: it keeps the address.
    let state = look({ ...endpoint, leases: [older, newer], readable: { [olderA]: true } });
    assert.deepEqual(placesOf(state), [`${olderA}@10.0.0.1:6443`]);
    // Three renewals later it is not.
    const renewed = { ...newer, renewedAt: older.renewedAt + 40_000 };
    state = look({ ...endpoint, leases: [older, renewed], readable: { [olderA]: true } });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6443`, `${olderA}@10.0.0.1:6443`]);
    state = look({ ...endpoint, leases: [older, renewed], readable: { [olderA]: true, [a]: true } });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6443`]);
  });

  it('does not let two servers that both renew supersede each other', () => {
    const { look } = clusterStates();
    for (let round = 0; round < 6; round++) {
      const renewedAt = (server: number) => leaseOf(a).renewedAt + (round * 2 + server) * 5000;
      const state = look({
        ...endpoint,
        leases: [
          leaseOf(olderA, { hostname: 'cp-a', renewedAt: renewedAt(round % 2) }),
          leaseOf(a, { hostname: 'cp-a', renewedAt: renewedAt(0) }),
        ],
        readable: { [a]: true, [olderA]: true },
        at: round * 10_000,
      });
      assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6443`]);
    }
  });
});

describe('a server that gets its name later', () => {
  it('is there under one ID or the other at every moment', () => {
    const { look } = clusterStates();
    const endpoints = ['10.0.0.1:6443'];
    const byEndpoint = 'endpoint-10-0-0-1-6443';
    look({ endpoints });
    const named = { endpoints, leases: [leaseOf(a)], endpointNames: { '10.0.0.1:6443': [a] } };
    let state = look({ ...named, readable: { [byEndpoint]: true } });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6443`, `${byEndpoint}@10.0.0.1:6443`]);
    state = look({ ...named, readable: { [byEndpoint]: true, [a]: true } });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6443`]);
    // The Lease goes, and comes back: the server has kept its name.
    state = look({ endpoints, readable: { [a]: true } });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6443`]);
    // Nobody can say any more whose certificate it is.
    state = look({ endpoints, leases: [leaseOf(a)], readable: { [a]: true } });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6443`]);
  });

  it('keeps its address until the server that claims it has been read there', () => {
    const { look } = clusterStates();
    look({ leases: [leaseOf(a)], endpoints: ['10.0.0.1:6443'], endpointNames: { '10.0.0.1:6443': [a] } });
    const claimed = { leases: [leaseOf(a), leaseOf(b, { address: '10.0.0.1:6443' })] };
    let state = look({ ...claimed, readable: { [a]: true } });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6443`, `${b}@10.0.0.1:6443`]);
    state = look({ ...claimed, readable: { [a]: true, [b]: true } });
    assert.deepEqual(placesOf(state), [`${a}@nowhere`, `${b}@10.0.0.1:6443`]);
  });

  it('does not swing between two Leases that claim the same address', () => {
    const { look } = clusterStates();
    const claim = (id: string, renewedAt: number) => leaseOf(id, { address: '10.0.0.1:6443', renewedAt });
    const owners = [0, 1, 2, 3].map((round) => {
      const state = look({
        leases: [claim(a, round % 2 === 0 ? 10 : 0), claim(b, round % 2 === 0 ? 0 : 10)],
        readable: { [a]: true, [b]: true },
      });
      return placesOf(state).find((place) => place.endsWith('@10.0.0.1:6443'));
    });
    assert.equal(new Set(owners).size, 1);
  });
});

describe('a server that is named by its endpoint and moves to another port', () => {
  const [before, after] = ['endpoint-10-0-0-1-6443', 'endpoint-10-0-0-1-6444'];

  it('is not there twice, although a router responds at the port that it has left', () => {
    const { look } = clusterStates();
    look({ endpoints: ['10.0.0.1:6443'], readable: { [before]: true } });
    const moved = { endpoints: ['10.0.0.1:6444'] };
    let state = look({ ...moved, readable: { [before]: true } });
    assert.deepEqual(placesOf(state), [`${before}@10.0.0.1:6443`, `${after}@10.0.0.1:6444`]);
    state = look({ ...moved, readable: { [before]: true, [after]: true } });
    assert.deepEqual(placesOf(state), [`${after}@10.0.0.1:6444`]);
  });

  it('is not one at an IPv6 address that is the same number', () => {
    const { look } = clusterStates();
    const other = 'endpoint---a00-1-6444';
    look({ endpoints: ['10.0.0.1:6443'], readable: { [before]: true } });
    const state = look({ endpoints: ['[::a00:1]:6444'], readable: { [before]: true, [other]: true } });
    assert.deepEqual(placesOf(state), [`${other}@[::a00:1]:6444`, `${before}@10.0.0.1:6443`]);
  });

  it('does not take the place of a server on another host', () => {
    const { look } = clusterStates();
    const [other] = ['endpoint-10-0-0-2-6443'];
    const readable = { [before]: true, [other]: true, [after]: true };
    look({ endpoints: ['10.0.0.1:6443', '10.0.0.2:6443'], readable });
    const state = look({ endpoints: ['10.0.0.1:6444'], readable });
    assert.deepEqual(placesOf(state), [`${after}@10.0.0.1:6444`, `${other}@10.0.0.2:6443`]);
  });
});

describe('a server whose Lease tells its address, behind a router at the port of its endpoint', () => {
  const leases = [leaseOf(a, { address: '10.0.0.1:6444', hostname: 'cp-a' })];
  const router = 'endpoint-10-0-0-1-6443';
  const endpoints = ['10.0.0.1:6443'];
  const endpointNames = { '10.0.0.1:6443': ['cp-a'] };
  const readable = { [a]: true, [router]: true };

  it('is there once, while all endpoints have the port of those that have not moved', () => {
    const { look } = clusterStates();
    const state = look({ leases, endpoints, endpointNames, readable });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6444`]);
  });

  it('is there once again when the certificate of the router has been read, or the endpoints have changed back', () => {
    for (const next of [{ endpoints, endpointNames }, { endpoints: ['10.0.0.1:6444'] }]) {
      const { look } = clusterStates();
      assert.equal(look({ leases, endpoints, readable }).servers.length, 2);
      assert.deepEqual(placesOf(look({ leases, readable, ...next })), [`${a}@10.0.0.1:6444`]);
    }
  });

  it('does not hide another server at its IP address', () => {
    const { look } = clusterStates();
    const state = look({ leases, endpoints, endpointNames: { '10.0.0.1:6443': [b] }, readable });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6444`, `${router}@10.0.0.1:6443`]);
  });
});
