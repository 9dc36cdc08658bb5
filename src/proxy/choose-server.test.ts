import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RoutingServer } from '../snapshot/routing-table.ts';
import { chooseServer, type ServerState } from './choose-server.ts';

const server = (id: string): RoutingServer => ({
  id,
  origin: `https://${id}.example:6443`,
  serverName: 'kubernetes.default.svc',
  version: undefined,
  stale: false,
});
const [a, b, c] = [server('a'), server('b'), server('c')];
const state = (inFlight: Record<string, number>, avoided: readonly string[] = []): ServerState => ({
  inFlight: (id) => inFlight[id] ?? 0,
  isAvoided: (id) => avoided.includes(id),
  weight: () => 1,
});

test('of two drawn servers the one with fewer requests in flight is taken', () => {
  for (const draw of [0, 0.49, 0.51, 0.99]) {
    assert.equal(
      chooseServer([a, b], state({ a: 5, b: 1 }), () => draw),
      b,
    );
  }
});

test('equal load is spread by the draw', () => {
  assert.equal(
    chooseServer([a, b, c], state({}), () => 0),
    a,
  );
  assert.equal(
    chooseServer([a, b, c], state({}), () => 0.99),
    c,
  );
});

test('a server that could not be reached is taken only when nothing else is left', () => {
  assert.equal(
    chooseServer([a, b], state({ b: 99 }, ['a']), () => 0),
    b,
  );
  assert.notEqual(
    chooseServer([a, b], state({}, ['a', 'b']), () => 0),
    undefined,
  );
});

test('the server that was tried already is never taken again', () => {
  assert.equal(
    chooseServer([a], state({}), () => 0, a),
    undefined,
  );
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.constantFrom(a, b, c), { minLength: 1 }),
      fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 2, maxLength: 2 }),
      fc.uniqueArray(fc.constantFrom('a', 'b', 'c')),
      (candidates, draws, avoided) => {
        let draw = 0;
        const chosen = chooseServer(
          candidates,
          state({}, avoided),
          () => draws[draw++ % 2] as number,
          candidates[0],
        );
        assert.notEqual(chosen, candidates[0]);
        assert.equal(chosen === undefined, candidates.length === 1);
      },
    ),
  );
});
