import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '../../support/seeded-random.ts';
import { faultsOf } from './round.ts';

const expectation = {
  kept: ['/registry/configmaps/kept/of-newer-1'],
  gone: ['/registry/namespaces/round-1'],
  goneBelow: ['/registry/configmaps/round-1/'],
  signed: 'round-1',
};

describe('what etcd holds after a round', () => {
  test('is right when what must stay is all that is there', () => {
    const stored = new Set(['/registry/configmaps/kept/of-newer-1', '/registry/configmaps/round-10/other']);
    assert.deepEqual(faultsOf([expectation], stored), { orphans: [], wronglyDeleted: [] });
  });

  test('names what was left behind and what should not have gone', () => {
    const stored = new Set(['/registry/namespaces/round-1', '/registry/configmaps/round-1/one']);
    assert.deepEqual(faultsOf([expectation], stored), {
      orphans: ['/registry/namespaces/round-1', '/registry/configmaps/round-1/one'],
      wronglyDeleted: ['/registry/configmaps/kept/of-newer-1'],
    });
  });

  test('the same seed gives the same numbers', () => {
    const numbers = (seed: number) => Array.from({ length: 3 }, seededRandom(seed));
    assert.deepEqual(numbers(7), numbers(7));
    assert.notDeepEqual(numbers(7), numbers(8));
    assert.ok(numbers(7).every((number) => number >= 0 && number < 1));
  });
});
