import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { confirmedAt, notIsolated } from './confirmations.ts';
import { endsAt, newRecord, next } from './server-record.ts';
import {
  isAwaited,
  isInDoubt,
  isKnownToOthers,
  isOutdated,
  mayBeAsked,
  mayBeStarting,
  mayStillServe,
  missingKnowledge,
} from './server-standing.ts';
import {
  type ProbeOutcome,
  presentOf,
  type ServerEvent,
  type ServerRecord,
  startDuration,
} from './server-states.ts';

const thresholds = { rise: 2, fall: 3 };

const happens = (record: ServerRecord, event: ServerEvent, now: number): ServerRecord =>
  next(record, event, now, thresholds);

/** The record after a probe of no duration. */
const probed = (record: ServerRecord, outcome: ProbeOutcome, now: number): ServerRecord =>
  happens(happens(record, { kind: 'asked' }, now), { kind: 'answered', askedAt: now, outcome }, now);

/** The record after probes, one each second. */
const after = (outcomes: readonly ProbeOutcome[], from: ServerRecord = newRecord('a', 0)): ServerRecord =>
  outcomes.reduce((record, outcome, index) => probed(record, outcome, index + 1), from);

const lost = (record: ServerRecord, now: number, isRefused = false): ServerRecord =>
  happens(record, { kind: 'connection lost', isRefused }, now);

/** With all that has ended by itself until then. */
const at = (record: ServerRecord, now: number): ServerRecord =>
  endsAt(record) <= now ? at(happens(record, { kind: 'time' }, endsAt(record)), now) : record;

const kindOf = ({ state }: ServerRecord): string => presentOf(state).kind;
const missing = (record: ServerRecord, now: number) => missingKnowledge(at(record, now));
const ready = after(['ready', 'ready']);

describe('a server by its probes', () => {
  test('is untried until something is heard of it, and the first success counts at once', () => {
    assert.equal(kindOf(newRecord('a', 0)), 'untried');
    assert.equal(kindOf(after(['ready'])), 'ready');
    assert.equal(kindOf(after(['alive'])), 'ready');
    assert.equal(kindOf(after(['unreachable', 'unreachable'])), 'untried');
  });

  test('turns with the third failure in a row, whatever kind the failures are', () => {
    assert.equal(kindOf(after(['ready', 'unreachable', 'not-ready'])), 'suspect');
    const down = after(['ready', 'unreachable', 'not-ready', 'unreachable']);
    assert.deepEqual([kindOf(down), down.state.since, mayBeAsked(down)], ['unreachable', 4, 'last']);
    assert.equal(kindOf(after(['not-ready', 'not-ready', 'not-ready'])), 'unready');
    assert.equal(
      kindOf(after(['unreachable', 'unreachable', 'alive', 'unreachable', 'unreachable'])),
      'suspect',
    );
  });

  test('that flaps stays as it was, up or down', () => {
    const flapping = Array.from(
      { length: 40 },
      (_, index): ProbeOutcome => (index % 2 === 0 ? 'unreachable' : 'ready'),
    );
    assert.equal(mayBeAsked(after(['ready', ...flapping])), 'first');
    const down = after(['unreachable', 'unreachable', 'unreachable']);
    assert.equal(kindOf(after(flapping, down)), 'unreachable');
  });

  test('may be starting when it was away for long and says that it is not ready', () => {
    const away = after(['ready', 'unreachable', 'unreachable', 'unreachable']);
    const starting = probed(away, 'not-ready', 600_000);
    assert.deepEqual([mayBeStarting(away, 600_000), mayBeStarting(starting, 600_001)], [false, true]);
    assert.equal(mayBeStarting(starting, 660_001), false);
  });

  test('is in doubt until the next probe can change nothing', () => {
    assert.equal(isInDoubt(newRecord('a', 0), 0, thresholds), true);
    assert.equal(isInDoubt(ready, 0, thresholds), false);
    assert.equal(isInDoubt(after(['ready']), 0, thresholds), true);
    for (const outcome of ['not-ready', 'unreachable'] as const) {
      assert.equal(isInDoubt(probed(ready, outcome, 5), 0, thresholds), true, outcome);
    }
  });

  test('is unreachable at once when it is silent, and other routers may use it until their probes have failed, too', () => {
    const silent = happens(ready, { kind: 'silent' }, 1_000);
    assert.deepEqual([kindOf(silent), silent.state.since], ['unreachable', 1_000]);
    assert.deepEqual(
      [30_999, 31_000].map((now) => mayStillServe(silent, now)),
      [true, false],
    );
    assert.equal(mayStillServe(lost(silent, 5_000), 30_999), true);
    assert.equal(mayStillServe(lost(silent, 5_000, true), 7_000), false, 'nothing runs there any more');
    assert.equal(after(['ready', 'ready'], silent).silentAt, undefined);
  });

  test('that another process runs is not known before it is read: a reader that begins does not know of that process', () => {
    const told = (record: ServerRecord, more: object, now: number) =>
      happens(record, { kind: 'told', told: { id: 'a', serves: '', ...more }, agrees: false }, now);
    const known = told(after(['ready', 'ready']), {}, 3_000);
    const another = told(known, { stale: true, unread: true }, 4_000);
    const byNewReader = told(another, { stale: true }, 5_000);
    assert.deepEqual([another, byNewReader].map(kindOf), ['unverified', 'unverified']);
    assert.equal(kindOf(told(byNewReader, {}, 6_000)), 'ready');
  });

  test('that was found down, and that the reader of the cluster has read since, may still serve: this router may be cut off', () => {
    const down = after(['unreachable', 'unreachable', 'unreachable']);
    assert.equal(mayStillServe(down, 20_000), false);
    const told = { id: 'a', serves: '' };
    const tell = (more: object) =>
      happens(down, { kind: 'told', told: { ...told, ...more }, agrees: false }, 20_000);
    const read = tell({});
    assert.deepEqual(
      [29_999, 30_000].map((now) => mayStillServe(read, now)),
      [true, false],
    );
    assert.equal(mayStillServe(tell({ stale: true }), 20_000), false);
    assert.equal(mayStillServe(lost(read, 21_000, true), 23_000), false, 'it has ended since');
  });
});

describe('a server whose connection was refused or broke', () => {
  const away = lost(ready, 10);

  test('is back when a probe that began since then succeeds', () => {
    assert.deepEqual([kindOf(away), isAwaited(away), mayBeAsked(away)], ['restarting', true, 'last']);
    assert.equal(kindOf(probed(away, 'ready', 20)), 'ready');
    for (const outcome of ['not-ready', 'unreachable'] as const) {
      const tried = probed(away, outcome, 20);
      assert.deepEqual([kindOf(tried), isAwaited(tried), mayBeAsked(tried)], ['restarting', false, 'not']);
    }
  });

  test('is not back by the answer to an older question', () => {
    const asked = happens(ready, { kind: 'asked' }, 8);
    const late = lost(asked, 10);
    for (const outcome of ['ready', 'alive', 'changed', 'not-ready'] as const) {
      const answered = happens(late, { kind: 'answered', askedAt: 8, outcome }, 12);
      assert.deepEqual(answered.state, late.state, outcome);
      assert.equal(answered.isVerified, false);
    }
  });

  test('is not back when it refuses /readyz that it has shown before, for its RBAC rules are not read yet', () => {
    for (const doubted of [away, happens(ready, { kind: 'no response' }, 15)]) {
      const refusing = probed(doubted, 'alive', 20);
      assert.equal(missing(refusing, 21), 'restarting');
      assert.equal(kindOf(probed(refusing, 'ready', 30)), 'ready');
    }
    // Where it never let the router read that path, a refusal says nothing.
    assert.equal(kindOf(probed(lost(after(['alive', 'alive']), 10), 'alive', 20)), 'ready');
    // Long after the connection was lost the refusal has another reason: somebody has taken the right away.
    assert.equal(kindOf(probed(away, 'alive', 70_000)), 'ready');
    assert.equal(kindOf(probed(ready, 'alive', 20)), 'ready');
  });

  test('is not used by a router that was started with it while it refuses everything, for a minute', () => {
    const first = probed(newRecord('a', 0), 'refusing', 10);
    const asked = happens(newRecord('a', 0), { kind: 'asked' }, 1);
    for (const record of [first, probed(lost(asked, 5), 'refusing', 10)]) {
      assert.equal(missing(record, 11), 'unready');
      assert.equal(missing(probed(record, 'refusing', 30), 31), 'unready');
      const ready = probed(probed(record, 'ready', 40), 'ready', 41);
      assert.deepEqual([kindOf(ready), missing(ready, 42)], ['ready', undefined]);
      // Somebody has taken the right to read both paths away from everybody: that is no reason not to use it.
      assert.equal(missing(probed(at(record, 60_011), 'refusing', 60_011), 60_012), undefined);
    }
    assert.equal(kindOf(after(['ready', 'refusing'])), 'ready');
  });

  test('is unverified when it says something else of itself than the snapshot: until the snapshot says that', () => {
    for (const before of [away, probed(away, 'not-ready', 20)]) {
      const changed = probed(before, 'changed', 30);
      assert.deepEqual([kindOf(changed), missing(changed, 31)], ['unverified', 'unverified']);
      assert.equal(kindOf(probed(changed, 'ready', 40)), 'ready');
      assert.equal(kindOf(happens(changed, { kind: 'read' }, 40)), 'ready');
      assert.equal(missing(lost(changed, 50), 51), 'restarting', 'it has ended again');
      assert.equal(missing(probed(changed, 'not-ready', 40), 41), 'restarting');
      // Nobody is left out for good: the sync job may be down.
      assert.equal(missing(changed, 60_029), 'unverified');
      const used = at(probed(changed, 'changed', 50_000), 60_030);
      assert.deepEqual([missing(used, 60_030), mayBeAsked(used)], [undefined, 'last']);
      assert.equal(mayBeAsked(probed(used, 'changed', 60_031)), 'last', 'the same word is no news');
      assert.equal(kindOf(happens(used, { kind: 'read' }, 60_040)), 'ready');
    }
  });

  test('is asked what it serves however long it was away, and by the first probe of all', () => {
    assert.equal(newRecord('a', 0).isVerified, false);
    assert.equal(missing(after(['changed']), 20), 'unverified');
    assert.equal(ready.isVerified, true);
    // The server's machine was off: nothing was refused meanwhile.
    const longAway = probed(at(lost(away, 100_000), 400_000), 'unreachable', 400_000);
    assert.equal(longAway.isVerified, false);
    assert.equal(missing(probed(longAway, 'changed', 401_000), 401_001), 'unverified');
  });

  test('is unverified too when the snapshot says that another process runs it', () => {
    const changed = happens(ready, { kind: 'lease changed' }, 10);
    assert.equal(missing(changed, 11), 'unverified');
    const early = happens(changed, { kind: 'answered', askedAt: 9, outcome: 'ready' }, 20);
    assert.equal(missing(early, 21), 'unverified');
    assert.equal(kindOf(probed(changed, 'ready', 20)), 'ready');
    // This router may never ask it (401): what it serves now is the snapshot's to say.
    const unasked = probed(happens(after(['alive', 'alive']), { kind: 'lease changed' }, 10), 'alive', 20);
    assert.equal(missing(unasked, 21), 'unverified');
    assert.equal(kindOf(happens(unasked, { kind: 'read' }, 22)), 'ready');
    assert.equal(probed(newRecord('a', 0), 'alive', 20).isVerified, false);
    const longAway = lost(at(probed(away, 'not-ready', 20), 60_011), 70_000);
    assert.equal(
      missing(probed(longAway, 'unreachable', 130_001), 130_001),
      undefined,
      'silent for a minute',
    );
    const starting = probed(happens(longAway, { kind: 'lease changed' }, 71_000), 'not-ready', 72_000);
    assert.equal(missing(starting, 72_001), 'restarting', 'that process was not away for long');
    assert.equal(missing(lost(starting, 130_500), 131_001), 'unready');
  });

  test('may be known to other routers some seconds after it was heard for the last time that it is not ready', () => {
    const leaseChanged = happens(away, { kind: 'lease changed' }, 1_000);
    const starting = probed(leaseChanged, 'not-ready', 5_000);
    assert.equal(isKnownToOthers(probed(away, 'not-ready', 20_000), 30_000), false, 'it may never come back');
    assert.deepEqual(
      [5_999, 6_000, 7_999, 8_000].map((now) => isKnownToOthers(starting, now)),
      [false, false, false, true],
    );
    const asked = probed(starting, 'not-ready', 9_000);
    assert.deepEqual(
      [11_999, 12_000, 26_999, 27_000].map((now) => isKnownToOthers(asked, now)),
      [false, true, true, false],
    );
    const silent = probed(leaseChanged, 'unreachable', 5_000);
    assert.deepEqual(
      [5_999, 6_000].map((now) => isKnownToOthers(silent, now)),
      [false, true],
      'by its Lease',
    );
    const changed = probed(probed(away, 'not-ready', 5_000), 'changed', 7_000);
    assert.deepEqual(
      [7_999, 8_000].map((now) => isKnownToOthers(changed, now)),
      [false, true],
    );
    assert.equal(isKnownToOthers(after(['changed']), 20), true, 'this router was away');
    assert.equal(isKnownToOthers(ready, 20), false);
  });

  test('is unready or unreachable once it has been away for a minute: it serves nothing, until a minute after its last loss', () => {
    assert.equal(missing(away, 20), undefined);
    const starting = probed(away, 'not-ready', 20);
    assert.equal(missing(starting, 60_009), 'restarting');
    // The server's /readyz has another reason to fail, and must not keep everybody out for ever.
    assert.deepEqual([missing(starting, 60_010), kindOf(at(starting, 60_010))], [undefined, 'unready']);
    const refused = lost(probed(away, 'unreachable', 20), 30_000, true);
    assert.deepEqual([missing(refused, 60_010), kindOf(at(refused, 60_010))], ['unreachable', 'unreachable']);
    assert.equal(missing(lost(at(refused, 60_010), 80_000, true), 139_999), 'unreachable');
    assert.equal(missing(refused, 90_000), undefined);
  });

  test('is noticed too when it says GOAWAY, or does not respond, and then that it is not ready', () => {
    const suspected = happens(ready, { kind: 'no response' }, 15);
    assert.deepEqual(
      [kindOf(suspected), isAwaited(suspected), mayBeAsked(suspected)],
      ['suspect', false, 'first'],
    );
    assert.equal(missing(probed(suspected, 'not-ready', 20), 20), 'restarting');
    assert.equal(kindOf(probed(suspected, 'ready', 20)), 'ready');
    assert.equal(kindOf(probed(ready, 'not-ready', 20)), 'suspect', 'nothing has broken off');
    assert.equal(kindOf(probed(probed(suspected, 'ready', 20), 'not-ready', 30)), 'suspect');
  });
});

test('after GOAWAY requests wait for a probe that began later', () => {
  const asked = happens(ready, { kind: 'asked' }, 8);
  const suspected = happens(asked, { kind: 'GOAWAY' }, 10);
  assert.deepEqual([isAwaited(suspected), suspected.isVerified], [true, false]);
  const early = happens(suspected, { kind: 'answered', askedAt: 8, outcome: 'ready' }, 12);
  assert.deepEqual([isAwaited(early), early.isVerified], [true, false]);
  const verified = probed(early, 'ready', 20);
  assert.deepEqual([isAwaited(verified), verified.isVerified, kindOf(verified)], [false, true, 'ready']);
});

test('what is stored of a server holds once a probe has verified it, and an unreachable server has been tried', () => {
  const stored = newRecord('a', 0, true);
  assert.deepEqual([isOutdated(stored), isAwaited(stored), mayBeAsked(stored)], [true, true, 'last']);
  assert.equal(kindOf(probed(stored, 'ready', 10)), 'ready');
  assert.equal(kindOf(probed(stored, 'changed', 10)), 'unverified');
  const gone = probed(lost(happens(stored, { kind: 'asked' }, 5), 6, true), 'unreachable', 7);
  assert.deepEqual([isOutdated(gone), mayBeAsked(gone)], [false, 'not']);
  const stood = happens(happens(ready, { kind: 'asked' }, 5), { kind: 'outdated' }, 10);
  const early = happens(stood, { kind: 'answered', askedAt: 5, outcome: 'ready' }, 12);
  assert.equal(isOutdated(early), true, 'it was asked before');
  assert.equal(isOutdated(probed(early, 'ready', 20)), false);
});

test('a server that has departed goes on underneath, and is as its probes have found it when it returns', () => {
  const departed = happens(ready, { kind: 'departed' }, 10);
  assert.equal(departed.state.kind, 'departed');
  const gone = probed(lost(departed, 20, true), 'unreachable', 30);
  assert.equal(gone.state.kind, 'departed');
  const returned = happens(probed(gone, 'changed', 1_000), { kind: 'returned' }, 1_100);
  assert.equal(returned.state.kind, 'unverified');
  assert.equal(happens(departed, { kind: 'returned' }, 40).state.kind, 'ready');
});

test('a server that is not probed is lost for nobody: who could say that it is back?', () => {
  const unprobed = newRecord('a', 0);
  for (const event of [
    { kind: 'connection lost', isRefused: true },
    { kind: 'GOAWAY' },
    { kind: 'lease changed' },
  ] as const) {
    assert.equal(happens(unprobed, event, 10), unprobed);
  }
});

/** A step of the exhaustive test; instants are a second apart. */
type Step = Exclude<ServerEvent['kind'], 'told' | 'said'> | ProbeOutcome | 'late ready' | 'a minute';

/** A second passes, then the step happens. */
function afterStep(record: ServerRecord, step: Step, time: number): ServerRecord {
  switch (step) {
    case 'ready':
    case 'changed':
    case 'alive':
    case 'refusing':
    case 'not-ready':
    case 'unreachable':
    case 'not-connected':
      return probed(record, step, time);
    case 'late ready':
      return happens(record, { kind: 'answered', askedAt: time - 1_500, outcome: 'ready' }, time);
    case 'refused':
      return probed(record, step, time);
    case 'connection lost':
      return lost(record, time);
    case 'answered':
    case 'a minute':
      return record;
    default:
      return happens(record, { kind: step }, time);
  }
}

const allSteps: readonly Step[] = [
  ...(['ready', 'changed', 'alive', 'refusing', 'not-ready', 'unreachable', 'late ready'] as const),
  ...(['refused', 'connection lost', 'no response', 'GOAWAY', 'silent', 'lease changed', 'read'] as const),
  ...(['stood still', 'departed', 'returned', 'a minute'] as const),
];
const commonSteps: readonly Step[] = ['ready', 'changed', 'not-ready', 'late ready', 'refused'];

/** Calls `see` with the record before and after each step of each sequence. */
function everySequence(
  steps: readonly Step[],
  length: number,
  see: (before: ServerRecord, record: ServerRecord, step: Step, time: number) => void,
): number {
  let seen = 0;
  const go = (record: ServerRecord, left: number, time: number): void => {
    for (const step of left === 0 ? [] : steps) {
      const then = time + (step === 'a minute' ? startDuration : 1_000);
      const before = at(record, then);
      const following = afterStep(before, step, then);
      seen++;
      see(before, following, step, then);
      go(following, left - 1, then);
    }
  };
  go(newRecord('a', 0), length, 0);
  return seen;
}

/** The promises of every state, whatever has happened. */
function keepsItsPromises(before: ServerRecord, record: ServerRecord, step: Step, time: number): void {
  const state = presentOf(record.state);
  const ends = endsAt(record);
  const isHeld = state.kind === 'restarting' || state.kind === 'unverified';
  if (isHeld) {
    assert.notEqual(mayBeAsked(record), 'first', 'nothing is sent to it as to any other');
    assert.ok(time < ends && ends <= time + startDuration, 'it ends by itself within a minute');
    assert.notEqual(kindOf(happens(record, { kind: 'time' }, ends)), state.kind);
  }
  assert.ok(ends > time);
  assert.equal(at(record, time), record, 'no time has passed');
  if (mayBeAsked(record) === 'not') assert.ok(ends < Number.POSITIVE_INFINITY, 'nobody is left out for ever');
  if (isAwaited(record)) {
    for (const outcome of ['ready', 'alive', 'changed', 'not-ready', 'unreachable'] as const)
      assert.equal(isAwaited(probed(record, outcome, time + 1)), false, 'one probe ends the waiting');
  }
  const isLate = step === 'late ready' && before.state.kind !== 'departed';
  const present = presentOf(before.state);
  if (isLate && 'loss' in present && present.loss !== undefined && present.loss.at > time - 1_500) {
    assert.equal(record.state, before.state, 'an answer of before the last loss changes nothing');
    assert.equal(record.isVerified, before.isVerified);
  }
  const back = probed(probed(record, 'ready', time + 1), 'ready', time + 2);
  assert.deepEqual([kindOf(back), back.isVerified], ['ready', true], 'two successes always end it');
  if (record.state.kind === 'departed')
    assert.equal(happens(record, { kind: 'returned' }, time).state, state);
}

test('every sequence of up to four of all steps, and of up to seven of the common ones, keeps the promises of the states', () => {
  assert.equal(everySequence(allSteps, 4, keepsItsPromises), 18 + 18 ** 2 + 18 ** 3 + 18 ** 4);
  let common = 0;
  for (let length = 1; length <= 7; length++) common += commonSteps.length ** length;
  assert.equal(everySequence(commonSteps, 7, keepsItsPromises), common);
});

test('what happens to one server changes nothing of another: every sequence of four steps over two servers', () => {
  const steps = commonSteps.flatMap((step) => [0, 1].map((server) => ({ server, step })));
  const go = (
    records: readonly [ServerRecord, ServerRecord],
    alone: readonly Step[][],
    left: number,
  ): void => {
    for (const { server, step } of left === 0 ? [] : steps) {
      const time = (5 - left) * 1_000;
      const [first, second] = records;
      const following: readonly [ServerRecord, ServerRecord] =
        server === 0 ? [afterStep(first, step, time), second] : [first, afterStep(second, step, time)];
      assert.equal(following[1 - server], records[1 - server]);
      go(following, alone, left - 1);
    }
  };
  go([newRecord('a', 0), newRecord('b', 0)], [], 4);
});

test('a server that has said otherwise confirms nothing until a snapshot tells of it, or ten seconds after it is as before', () => {
  const confirmed = (record: ServerRecord) => [record.confirmedAt, record.provenAt];
  const told = (version: string) => ({ id: 'a', address: '10.0.0.1:6443', version, serves: 'x' });
  const known = happens(ready, { kind: 'told', told: told('v1.35.0'), agrees: false }, 2_500);
  const first = probed(known, 'ready', 3_000);
  const back = probed(probed(first, 'changed', 4_000), 'ready', 9_000);
  assert.deepEqual(confirmed(probed(first, 'refused', 5_000)), [5_000, 5_000]);
  assert.deepEqual(confirmed(probed(probed(first, 'changed', 4_000), 'refused', 5_000)), [3_000, 3_000]);
  assert.deepEqual(confirmed(probed(back, 'ready', 18_999)), [3_000, 3_000], 'others may go by what it said');
  assert.deepEqual(confirmed(probed(back, 'ready', 19_000)), [19_000, 19_000]);
  const news = happens(back, { kind: 'told', told: told('v1.36.0'), agrees: false }, 10_000);
  assert.deepEqual(confirmed(probed(news, 'ready', 11_000)), [11_000, 11_000]);
});

describe('what a server has said of itself', () => {
  const told = { id: 'a', address: '10.0.0.1:6443', serves: 'set-of-1.36', version: 'v1.36.0' };
  const word = { version: 'v1.37.0', served: undefined };
  const said = [
    { kind: 'told', told, agrees: true },
    { kind: 'said', word },
    { kind: 'answered', askedAt: 10, outcome: 'changed' },
  ] as const satisfies readonly ServerEvent[];
  const heard = said.reduce((record, event) => happens(record, event, 10), ready);

  test('may be known to others until the snapshot tells it: another set of the version before says nothing', () => {
    const withSchemas = { ...told, serves: 'set-of-1.36-with-schemas' };
    const again = happens(heard, { kind: 'told', told: withSchemas, agrees: false }, 20);
    assert.equal(again.othersGoByItUntil, Number.POSITIVE_INFINITY);
    const newer = { ...told, serves: 'set-of-1.37', version: 'v1.37.0' };
    assert.equal(
      happens(again, { kind: 'told', told: newer, agrees: true }, 30).othersGoByItUntil,
      undefined,
    );
  });

  test('lets nothing count for confirmed when the server is silent afterwards, but for a minute', () => {
    const stale = { ...told, stale: true };
    const silent = probed(
      happens(heard, { kind: 'told', told: stale, agrees: false }, 20),
      'unreachable',
      30,
    );
    const other = probed({ ...newRecord('b', 0), told: { ...told, id: 'b' } }, 'ready', 30);
    assert.equal(confirmedAt([{ ...silent, word: undefined }, other], notIsolated, 30), 30);
    assert.equal(confirmedAt([silent, other], notIsolated, 30), silent.confirmedAt);
    assert.equal(confirmedAt([silent, other], notIsolated, 70_000), 30);
  });
});
