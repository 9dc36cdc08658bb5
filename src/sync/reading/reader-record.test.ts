import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeServer } from '../../../test/support/api-servers/fake-server-documents.ts';
import type { FailedReading, SuccessfulReading } from '../documents/sync-server.ts';
import {
  endsAt,
  isAwaited,
  isAway,
  isUnverified,
  next,
  type ReaderEvent,
  type ReaderRecord,
  stateOf,
  untriedRecord,
} from './reader-record.ts';

const server = { id: 'a', address: '10.0.0.1:6443', documents: fakeServer({}) };
const refused: FailedReading = { ok: false, code: 'Unreachable', reason: 'connection refused' };
const starting: FailedReading = { ok: false, code: 'NothingServed', reason: 'still starting' };
const reading: SuccessfulReading = {
  ok: true,
  set: { storageVersions: { 'core.pods': ['v1'] } },
  openApi: { kind: 'not-served' },
  version: 'v1.36.0',
};

/** Milliseconds between two events. */
const step = 25_000;

/** Events that may happen to a server that is known like this. */
function eventsFor(record: ReaderRecord, now: number): readonly ReaderEvent[] {
  const askedAt = now - step / 2;
  const unready: readonly ReaderEvent[] = [
    { kind: 'not ready', askedAt, reading: starting },
    ...(isAway(record) ? [{ kind: 'not ready', askedAt, reading: refused } as const] : []),
  ];
  const early: readonly ReaderEvent[] = [
    { kind: 'reading early', early: {} },
    { kind: 'read early', reading },
    { kind: 'read early', reading: undefined },
  ];
  return [
    { kind: 'described', server: { ...server, holderIdentity: 'a_2' } },
    { kind: 'replaced', server },
    ...(isAwaited(record, now) || record.reading === undefined ? unready : []),
    ...(record.reading?.ok === false ? early : []),
    { kind: 'became ready' },
    { kind: 'read', askedAt, reading },
    { kind: 'not read', reading: refused, dueAt: now + 400 },
    ...(record.state.kind === 'ready' ? [{ kind: 'restarted unnoticed', reading } as const] : []),
  ];
}

function check(before: ReaderRecord, event: ReaderEvent, after: ReaderRecord, now: number): void {
  const { state, reading, start, notReadyAt } = after;
  assert.equal(state.kind === 'untried', reading === undefined);
  assert.ok(state.kind !== 'ready' || reading?.ok === true);
  // Nobody is left out for good, whatever is said of the server.
  assert.equal(isAwaited(after, endsAt(after)), false);
  assert.ok(isAway(after) ? endsAt(after) <= now + 60_000 : endsAt(after) === Number.POSITIVE_INFINITY);
  // The wait began with the first loss: nothing that is said later makes it longer, but another process.
  if (isAway(before) && isAway(after) && event.kind !== 'replaced')
    assert.equal(endsAt(after), endsAt(before));
  // Only one whose reading counts may be of another process, and only until it is read.
  assert.ok(!isUnverified(after, now) || reading !== undefined);
  assert.ok((start?.notReadyAt ?? -Infinity) <= (start?.readyAt ?? Infinity));
  assert.ok((notReadyAt ?? -Infinity) <= now && (start?.readyAt ?? -Infinity) <= now);
  if (event.kind === 'read')
    assert.deepEqual([state.kind, after.early, after.failures], ['ready', undefined, 0]);
  if (event.kind === 'replaced') {
    assert.deepEqual([after.early, after.dueAt], [undefined, -Infinity]);
    assert.deepEqual([start, reading, notReadyAt], [before.start, before.reading, before.notReadyAt]);
  }
  if (event.kind === 'not ready' || event.kind === 'not read') assert.equal(reading, event.reading);
}

test('no sequence of six events leaves a server out for good, in a state without its reason, or ready before it was', () => {
  let sequences = 0;
  function follow(record: ReaderRecord, now: number, left: number): void {
    sequences++;
    if (left === 0) return;
    for (const event of eventsFor(record, now)) {
      const after = next(record, event, now);
      check(record, event, after, now);
      follow(after, now + step, left - 1);
    }
  }
  follow(untriedRecord(server, undefined), 0, 6);
  assert.ok(sequences > 50_000, `${sequences}`);
});

test('a server that cannot be read is restarting for a minute, and then what it was last', () => {
  const read = next(untriedRecord(server, undefined), { kind: 'read', askedAt: 0, reading }, 0);
  assert.equal(stateOf(read, 0), 'ready');
  const lost = next(read, { kind: 'not read', reading: refused, dueAt: 0 }, 1_000);
  const unready = next(lost, { kind: 'not ready', askedAt: 2_000, reading: starting }, 2_000);
  assert.deepEqual([stateOf(lost, 60_999), stateOf(lost, 61_000)], ['restarting', 'unreachable']);
  assert.deepEqual([stateOf(unready, 60_999), stateOf(unready, 61_000)], ['restarting', 'unready']);
  const replaced = next(read, { kind: 'replaced', server }, 1_000);
  assert.equal(stateOf(replaced, 1_000), 'unverified');
  const departed = { ...lost, server: { ...server, departedAt: 0 } };
  assert.equal(stateOf(departed, 1_000), 'departed');
});

test('a server under another ID has the start of the one before it, unless another process runs it', () => {
  const first = untriedRecord(server, undefined);
  const read = next(first, { kind: 'read', askedAt: 90, reading }, 100);
  const seen = { ...read, start: { notReadyAt: 50, readyAt: 60 } };
  const renamed = (before: ReaderRecord, version: string) => {
    const anew = untriedRecord({ ...server, id: 'b' }, before);
    return next(anew, { kind: 'read', askedAt: 190, reading: { ...reading, version } }, 200).start;
  };
  assert.deepEqual(renamed(seen, 'v1.36.0'), { notReadyAt: 50, readyAt: 60 });
  assert.deepEqual(renamed(seen, 'v1.37.0'), { notReadyAt: 90, readyAt: 200 });
  const lost = next(seen, { kind: 'not read', reading: refused, dueAt: 0 }, 150);
  assert.deepEqual(renamed(lost, 'v1.36.0'), { notReadyAt: 90, readyAt: 200 });
});

test('a start stays with the reading that it is of, and what cannot be read has none', () => {
  const lost = next(untriedRecord(server, undefined), { kind: 'read', askedAt: 0, reading }, 0);
  const away = next(lost, { kind: 'not ready', askedAt: 1_000, reading: starting }, 1_000);
  const back = next(
    next(away, { kind: 'became ready' }, 2_000),
    { kind: 'read', askedAt: 1_990, reading },
    2_010,
  );
  assert.deepEqual(back.start, { notReadyAt: 1_000, readyAt: 2_000 });
  // Its Lease is seen later than what it says.
  const replaced = next(back, { kind: 'replaced', server }, 2_020);
  assert.deepEqual(replaced.start, back.start);
  assert.deepEqual(next(replaced, { kind: 'became ready' }, 9_000).start, {
    notReadyAt: 1_990,
    readyAt: 9_000,
  });
  for (const unread of [
    { kind: 'not read', reading: refused, dueAt: 0 },
    { kind: 'not ready', askedAt: 3_000, reading: refused },
  ] as const)
    assert.equal(next(next(back, unread, 3_000), unread, 4_000).start, undefined);
});

test('a start comes after a process that was never read where two holders of the Lease were seen since, or none was before', () => {
  const held = (holderIdentity: string | undefined) => ({ ...server, holderIdentity });
  const backAfter = (record: ReaderRecord, ...holders: readonly (string | undefined)[]) => {
    const away = next(record, { kind: 'not ready', askedAt: 1_000, reading: refused }, 1_000);
    const seen = holders.reduce(
      (each, holder) => next(each, { kind: 'described', server: held(holder) }, 1_500),
      away,
    );
    return next(seen, { kind: 'became ready' }, 2_000).start?.isAfterUnread ?? false;
  };
  const untried = untriedRecord(held('first'), undefined);
  const read = next(untried, { kind: 'read', askedAt: 0, reading }, 0);
  assert.equal(backAfter(untried), true, 'a router that begins while the server is away');
  assert.equal(backAfter(read), false);
  assert.equal(backAfter(read, undefined, 'second'), false);
  assert.equal(backAfter(read, undefined, 'second', undefined, 'third'), true);
  const replaced = next(read, { kind: 'replaced', server: held('second') }, 500);
  assert.equal(backAfter(replaced), false);
  assert.equal(backAfter(replaced, undefined, 'third'), true);
  // Its next reading tells what it is.
  assert.equal(backAfter(next(replaced, { kind: 'read', askedAt: 600, reading }, 600), 'third'), false);
  // Before 1.28 each process has an ID of its own.
  const [renamed, again] = [
    untriedRecord({ ...server, id: 'b' }, read),
    untriedRecord({ ...server, id: 'c' }, undefined),
  ];
  assert.equal(backAfter(renamed), false);
  assert.equal(backAfter(untriedRecord(again.server, renamed)), true);
});
