import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { unreadWarnings } from './cluster-source.ts';

const refused = 'https://10.0.0.1:6443: connect ECONNREFUSED';
const kinds = ['identity Leases', 'identity Leases', 'EndpointSlices', 'APIServices'];
const watched = (failures: readonly (string | undefined)[], isKnown = false) =>
  kinds.map((kind, index) => ({
    kind,
    reflector: {
      failure: () => failures[index],
      items: () => (isKnown ? [] : undefined),
      run: async () => {},
      attempted: Promise.resolve(),
    },
  }));

describe('what of a cluster cannot be read', () => {
  it('is told once where all of it fails for one reason', () => {
    const failures = kinds.map(() => refused);
    assert.deepEqual(unreadWarnings(watched(failures)), [`the cluster cannot be read: ${refused}`]);
    assert.deepEqual(unreadWarnings(watched(failures, true)), [
      `the cluster cannot be read, so its last known state is used: ${refused}`,
    ]);
  });

  it('is told by reason, with each kind once', () => {
    assert.deepEqual(unreadWarnings(watched(['403', '403', undefined, '403'])), [
      'identity Leases and APIServices cannot be read: 403',
    ]);
    assert.deepEqual(unreadWarnings(watched([undefined, '403', '500', undefined], true)), [
      'identity Leases cannot be read, so their last known state is used: 403',
      'EndpointSlices cannot be read, so their last known state is used: 500',
    ]);
  });

  it('says that the last known state is used only of what has been read before', () => {
    const [leases, others] = [watched(['403', '403'], true), watched([undefined, undefined, '403', '403'])];
    assert.deepEqual(unreadWarnings([...leases.slice(0, 2), ...others.slice(2)]), [
      'identity Leases cannot be read, so their last known state is used: 403',
      'EndpointSlices and APIServices cannot be read: 403',
    ]);
  });

  it('is nothing where all of it is read', () => {
    assert.deepEqual(unreadWarnings(watched([])), []);
  });
});
