import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterStates, leaseOf, placesOf } from '../../test/support/cluster-states.ts';

const a = 'apiserver-hxhuy3rsmzqt3nvdbfa4wlpycq';
const olderA = 'kube-apiserver-hxhuy3rsmzqt3nvdbfa4wlpycq';
const b = 'apiserver-nxibzygiy5v5qmcjmernh6erfe';

describe('an upgrade that changes the ID of a host', () => {
  const endpoint = { endpoints: ['10.0.0.1:6443'], endpointServerIds: { '10.0.0.1:6443': [a, olderA] } };

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
    const named = { endpoints, leases: [leaseOf(a)], endpointServerIds: { '10.0.0.1:6443': [a] } };
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
    look({ leases: [leaseOf(a)], endpoints: ['10.0.0.1:6443'], endpointServerIds: { '10.0.0.1:6443': [a] } });
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
  const endpointServerIds = { '10.0.0.1:6443': [a] };
  const readable = { [a]: true, [router]: true };

  it('is there once, while all endpoints have the port of those that have not moved', () => {
    const { look } = clusterStates();
    const state = look({ leases, endpoints, endpointServerIds, readable });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6444`]);
  });

  it('is there once again when the certificate of the router has been read, or the endpoints have changed back', () => {
    for (const next of [{ endpoints, endpointServerIds }, { endpoints: ['10.0.0.1:6444'] }]) {
      const { look } = clusterStates();
      assert.equal(look({ leases, endpoints, readable }).servers.length, 2);
      assert.deepEqual(placesOf(look({ leases, readable, ...next })), [`${a}@10.0.0.1:6444`]);
    }
  });

  it('does not hide another server at its IP address', () => {
    const { look } = clusterStates();
    const state = look({ leases, endpoints, endpointServerIds: { '10.0.0.1:6443': [b] }, readable });
    assert.deepEqual(placesOf(state), [`${a}@10.0.0.1:6444`, `${router}@10.0.0.1:6443`]);
  });
});
