import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import {
  afterChangeOfHands,
  afterLostConnection,
  afterReading,
  type HealthSignal,
  healthAfterResponse,
  initialHealth,
  isInDoubt,
  isKnownToOthers,
  isToBeVerified,
  isVerified,
  mayBeStarting,
  mayStillServe,
  missingKnowledge,
  nextHealth,
  type ServerState,
  whileProbed,
} from './server-state.ts';

const thresholds = { rise: 2, fall: 3 };

/** The state after `signals`, one each second. */
function after(signals: readonly HealthSignal[], from: ServerState = initialHealth(0)): ServerState {
  return signals.reduce((state, signal, index) => nextHealth(state, signal, thresholds, index + 1), from);
}

const anySignal = fc.constantFrom<HealthSignal>(
  'ready',
  'alive',
  'refusing',
  'not-ready',
  'unreachable',
  'not-connected',
  'silent',
);

describe('the health of a server', () => {
  test('is unknown until something is heard of it, and the first success counts at once', () => {
    assert.equal(initialHealth(0).status, 'unknown');
    assert.equal(after(['ready']).status, 'healthy');
    assert.equal(after(['unreachable', 'unreachable']).status, 'unknown');
  });

  test('turns with the third failure in a row, whatever kind the failures are', () => {
    assert.equal(after(['ready', 'unreachable', 'not-ready']).status, 'healthy');
    const { status, cause, since } = after(['ready', 'unreachable', 'not-ready', 'unreachable']);
    assert.deepEqual({ status, cause, since }, { status: 'unhealthy', cause: 'unreachable', since: 4 });
    assert.equal(after(['not-ready', 'not-ready', 'not-ready']).cause, 'not-ready');
  });

  test('turns at once with silence, and other routers may use it until their probes have failed, too', () => {
    const silent = nextHealth(after(['ready']), 'silent', thresholds, 1_000);
    assert.deepEqual([silent.status, silent.cause, silent.since], ['unhealthy', 'unreachable', 1_000]);
    assert.deepEqual(
      [30_999, 31_000].map((now) => mayStillServe(silent, now)),
      [true, false],
    );
    const lost = afterLostConnection(silent, 5_000);
    assert.equal(mayStillServe(lost, 30_999), true);
    const refused = afterLostConnection(silent, 5_000, true);
    assert.equal(mayStillServe(refused, 7_000), false, 'nothing runs there any more');
    assert.equal(after(['ready', 'ready'], silent).silentAt, undefined);
  });

  test('counts a refusal to be asked as a sign of life', () => {
    assert.equal(after(['alive']).status, 'healthy');
    assert.equal(
      after(['unreachable', 'unreachable', 'alive', 'unreachable', 'unreachable']).status,
      'healthy',
    );
  });

  test('of a flapping server stays what it was, up or down', () => {
    const flapping = Array.from({ length: 40 }, (_, index) => (index % 2 === 0 ? 'unreachable' : 'ready'));
    assert.equal(after(['ready', ...(flapping as HealthSignal[])]).status, 'healthy');
    const down = after(['unreachable', 'unreachable', 'unreachable']);
    assert.equal(after(flapping as HealthSignal[], down).status, 'unhealthy');
  });

  test('turns by requests that find no connection, unless any of them is answered between', () => {
    assert.equal(after(['ready', 'not-connected', 'not-connected', 'not-connected']).status, 'unhealthy');
    const twice = after(['ready', 'not-connected', 'not-connected']);
    assert.equal(after(['not-connected'], healthAfterResponse(twice)).status, 'healthy');
  });

  test('may be starting when it was away for long and says that it is not ready', () => {
    const away = after(['ready', 'unreachable', 'unreachable', 'unreachable']);
    const starting = nextHealth(away, 'not-ready', thresholds, 600_000);
    assert.deepEqual([mayBeStarting(away, 600_000), mayBeStarting(starting, 600_001)], [false, true]);
  });

  test('is not restored by answers to requests: a server that shuts down still gives them', () => {
    const down = after(['not-ready', 'not-ready', 'not-ready']);
    assert.equal(healthAfterResponse(down).status, 'unhealthy');
    const failing = after(['ready', 'not-ready', 'not-ready']);
    assert.equal(after(['not-ready'], healthAfterResponse(failing)).status, 'unhealthy');
  });

  test('never sticks: whatever came before, enough of one kind in a row decides', () => {
    fc.assert(
      fc.property(fc.array(anySignal, { maxLength: 50 }), (history) => {
        const state = after(history);
        assert.equal(after(['ready', 'alive'], state).status, 'healthy');
        assert.equal(after(['unreachable', 'not-ready', 'unreachable'], state).status, 'unhealthy');
        assert.equal(after(['not-connected', 'not-connected', 'not-connected'], state).status, 'unhealthy');
      }),
    );
  });

  test('has a cause exactly while it is bad', () => {
    fc.assert(
      fc.property(fc.array(anySignal, { maxLength: 50 }), (history) => {
        const { status, cause } = after(history);
        assert.equal(cause !== undefined, status === 'unhealthy');
      }),
    );
  });

  test('is in doubt until the next probe can change nothing', () => {
    assert.equal(isInDoubt(initialHealth(0), 0, thresholds), true);
    assert.equal(isInDoubt(after(['ready', 'ready']), 0, thresholds), false);
    for (const signal of ['not-ready', 'unreachable', 'not-connected'] as const) {
      assert.equal(isInDoubt(after(['ready', 'ready', signal]), 0, thresholds), true, signal);
    }
  });
});

describe('a server whose connection was refused or broke', () => {
  const healthy = after(['ready', 'ready']);
  const lost = afterLostConnection(healthy, 10);
  const probed = (state: ServerState, signal: HealthSignal, now = 20): ServerState =>
    nextHealth(whileProbed(state, now), signal, thresholds, now);

  test('is back when a probe that began since then succeeds, and keeps its status meanwhile', () => {
    assert.equal(lost.status, 'healthy');
    assert.equal(probed(lost, 'ready').lost, undefined);
    for (const signal of ['not-ready', 'unreachable'] as const) {
      assert.notEqual(probed(lost, signal).lost, undefined);
    }
  });

  test('is not back when it refuses /readyz that it has shown before, for its RBAC rules are not read yet', () => {
    for (const doubted of [lost, { ...healthy, suspectedAt: 15 }]) {
      const refusing = probed(doubted, 'alive');
      assert.equal(missingKnowledge(refusing, 21), 'readiness');
      assert.equal(probed(refusing, 'ready', 30).lost, undefined);
    }
    // Where it never let the router read that path, a refusal says nothing.
    const unreadable = afterLostConnection(after(['alive', 'alive']), 10);
    assert.equal(probed(unreadable, 'alive').lost, undefined);
    // Long after the connection was lost the refusal has another reason: somebody has taken the right away.
    assert.equal(probed(lost, 'alive', 70_000).lost, undefined);
    assert.equal(probed(healthy, 'alive').status, 'healthy');
  });

  test('is not used by a router that was started with it while it refuses everything, for a minute', () => {
    const first = probed(initialHealth(0), 'refusing', 10);
    const unreachable = probed(afterLostConnection(initialHealth(0), 5), 'refusing', 10);
    for (const state of [first, unreachable]) {
      assert.deepEqual([state.status, missingKnowledge(state, 11)], ['unknown', 'down']);
      assert.equal(missingKnowledge(probed(state, 'refusing', 30), 31), 'down');
      const ready = probed(state, 'ready', 40);
      assert.deepEqual([ready.status, ready.lost], ['healthy', undefined]);
      // Somebody has taken the right to read both paths away from everybody: that is no reason not to use it.
      assert.equal(probed(state, 'refusing', 60_011).lost, undefined);
    }
    assert.equal(after(['ready', 'refusing']).status, 'healthy');
  });

  test('is ready, and not known yet, when it says something else of itself than the snapshot: until the snapshot says that', () => {
    const starting = probed(lost, 'not-ready');
    for (const before of [lost, starting]) {
      const changed = probed(before, 'changed', 30);
      assert.equal(missingKnowledge(changed, 31), 'served-set');
      assert.equal(probed(changed, 'ready', 40).lost, undefined);
      assert.equal(afterReading(changed).lost, undefined);
      // It has ended again.
      assert.equal(missingKnowledge(afterLostConnection(changed, 50), 51), 'readiness');
      assert.equal(missingKnowledge(probed(changed, 'not-ready', 40), 41), 'readiness');
      // Nobody is left out for good: the sync job may be down.
      assert.equal(missingKnowledge(changed, 60_029), 'served-set');
      assert.equal(missingKnowledge(probed(changed, 'changed', 50_000), 60_030), undefined);
    }
    const early = nextHealth(lost, 'changed', thresholds, 20);
    assert.equal(missingKnowledge(early, 20), undefined, 'before it was lost');
    assert.equal(
      after(['unreachable', 'unreachable', 'unreachable', 'changed', 'changed']).status,
      'healthy',
    );
  });

  test('is asked what it serves however long it was away, and by the first probe of all', () => {
    assert.equal(isToBeVerified(initialHealth(0)), true);
    assert.equal(missingKnowledge(after(['changed']), 20), 'served-set');
    assert.equal(isToBeVerified(healthy), false);
    // Its machine was off: nothing was refused meanwhile.
    const longAway = probed(afterLostConnection(lost, 100_000), 'unreachable', 400_000);
    assert.equal(isToBeVerified(longAway), true);
    assert.equal(missingKnowledge(probed(longAway, 'changed', 401_000), 401_001), 'served-set');
  });

  test('is not known either when the snapshot says that another process runs it', () => {
    const changed = afterChangeOfHands(healthy, 10);
    assert.equal(missingKnowledge(changed, 11), 'served-set');
    assert.equal(missingKnowledge(nextHealth(changed, 'ready', thresholds, 20), 21), 'served-set');
    assert.equal(probed(changed, 'ready').lost, undefined);
    // This router may never ask it (401): what it serves now is the snapshot's to say.
    const unasked = probed(afterChangeOfHands(after(['alive', 'alive']), 10), 'alive', 20);
    assert.equal(missingKnowledge(unasked, 21), 'served-set');
    assert.equal(afterReading(unasked).lost, undefined);
    assert.equal(isVerified(probed(initialHealth(0), 'alive', 20)), false);
    const longAway = afterLostConnection(probed(lost, 'not-ready'), 70_000);
    assert.equal(missingKnowledge(longAway, 70_001), 'down');
    const starting = nextHealth(afterChangeOfHands(longAway, 71_000), 'not-ready', thresholds, 72_000);
    assert.equal(missingKnowledge(starting, 72_001), 'readiness', 'that process was not away for long');
    assert.equal(missingKnowledge(afterLostConnection(starting, 131_000), 131_001), 'down');
  });

  test('may be known to other routers some seconds after it was heard for the last time that it is not ready', () => {
    const starting = probed(afterChangeOfHands(lost, 1_000), 'not-ready', 5_000);
    assert.equal(isKnownToOthers(probed(lost, 'not-ready', 20_000), 30_000), false, 'it may never come back');
    assert.deepEqual(
      [5_999, 6_000, 7_999, 8_000].map((now) => isKnownToOthers(starting, now)),
      [false, false, false, true],
    );
    const asked = probed(starting, 'not-ready', 9_000);
    assert.deepEqual(
      [11_999, 12_000, 26_999, 27_000].map((now) => isKnownToOthers(asked, now)),
      [false, true, true, false],
    );
    const silent = probed(afterChangeOfHands(lost, 1_000), 'unreachable', 5_000);
    assert.deepEqual(
      [5_999, 6_000].map((now) => isKnownToOthers(silent, now)),
      [false, true],
      'by its Lease',
    );
    const changed = probed(probed(lost, 'not-ready', 5_000), 'changed', 7_000);
    assert.deepEqual(
      [7_999, 8_000].map((now) => isKnownToOthers(changed, now)),
      [false, true],
    );
    assert.equal(isKnownToOthers(after(['changed']), 20), true, 'this router was away');
    assert.equal(isKnownToOthers(healthy, 20), false);
  });

  test('is not cleared by a probe of the process of before, nor by a response to a request', () => {
    assert.deepEqual(nextHealth(lost, 'ready', thresholds, 20).lost, lost.lost);
    const again = afterLostConnection(whileProbed(lost, 14), 15);
    assert.notEqual(nextHealth(again, 'ready', thresholds, 20).lost, undefined);
    assert.deepEqual(healthAfterResponse(lost).lost, lost.lost);
  });

  test('is not known to be ready once a probe has failed, and down when it has been away for a minute', () => {
    assert.equal(missingKnowledge(lost, 20), undefined);
    const starting = probed(lost, 'not-ready');
    assert.equal(missingKnowledge(starting, 20), 'readiness');
    assert.equal(missingKnowledge(starting, 60_009), 'readiness');
    // Its /readyz has another reason to fail, and must not keep everybody out for ever.
    assert.equal(missingKnowledge(starting, 60_010), undefined);
    assert.equal(missingKnowledge(afterLostConnection(starting, 70_000), 70_001), 'down');
  });

  test('is noticed too when it says GOAWAY, or does not respond, and then that it is not ready', () => {
    const suspected: ServerState = { ...healthy, suspectedAt: 15 };
    assert.equal(missingKnowledge(probed(suspected, 'not-ready'), 20), 'readiness');
    assert.equal(probed(suspected, 'ready').lost, undefined);
    assert.equal(probed(healthy, 'not-ready').lost, undefined, 'nothing has broken off');
    const looked = probed(suspected, 'ready');
    assert.equal(probed(looked, 'not-ready').lost, undefined);
  });
});
