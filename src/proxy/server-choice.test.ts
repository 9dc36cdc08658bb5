import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { seededRandom } from '../../test/support/seeded-random.ts';
import type { VersionChoice } from '../routing/decision.ts';
import { mayStillServe } from '../servers/server-standing.ts';
import type { RoutingServer } from '../snapshot/routing-table/routing-table.ts';
import { type Candidates, ServerChoice, ServerLoad } from './server-choice.ts';

const server = (id: string, minor: string): RoutingServer => ({
  id,
  origin: `https://${id}.example:6443`,
  serverName: 'kubernetes.default.svc',
  version: `v${minor}.0`,
  minor,
  stale: false,
  departed: false,
});
const preferred = server('preferred', '1.33');
const newer = server('newer', '1.36');
const older = server('older', '1.31');
const version = (one: RoutingServer) => ({
  minor: one.minor,
  serverIds: new Set([one.id]),
  reachable: [one],
});
const byVersion = (changes: Partial<VersionChoice> = {}): Candidates => ({
  candidates: [preferred],
  versions: {
    preferred: '1.33',
    asked: '1.33',
    others: [version(newer), version(older)],
    ofEveryServer: false,
    ...changes,
  },
});

interface Circumstances {
  readonly inFlight?: Readonly<Record<string, number>>;
  readonly avoided?: readonly string[];
  readonly restarting?: readonly string[];
  readonly slow?: readonly string[];
}

function choiceWith(
  { inFlight = {}, avoided = [], restarting = [], slow = [] }: Circumstances = {},
  random: () => number = () => 0,
) {
  return new ServerChoice({
    load: { of: (id) => inFlight[id] ?? 0, isAvoided: (id) => avoided.includes(id) },
    health: {
      mayBeAsked: (id) => (restarting.includes(id) ? 'not' : 'first'),
      is: (id, holds) => holds === mayStillServe && slow.includes(id),
    },
    random,
  });
}

test('a healthy server of the preferred version is asked, without a word about versions', () => {
  const chosen = choiceWith().choose(byVersion(), 'short');
  assert.equal(chosen?.server.id, 'preferred');
  assert.equal(chosen?.otherVersion, undefined);
});

test('one that has become unhealthy a moment ago, and that others may still ask, is asked before another version', () => {
  const chosen = choiceWith({ avoided: ['preferred'], slow: ['preferred'] }).choose(byVersion(), 'short');
  assert.deepEqual([chosen?.server.id, chosen?.otherVersion], ['preferred', undefined]);
});

test('without one, the next healthy version is asked, newer ones first', () => {
  const withoutPreferred = choiceWith({ avoided: ['preferred'] }).choose(byVersion(), 'short');
  assert.equal(withoutPreferred?.server.id, 'newer');
  assert.deepEqual(withoutPreferred?.otherVersion, { minor: '1.36', isOlder: false });
  const onlyOlder = choiceWith({ avoided: ['preferred', 'newer'] }).choose(byVersion(), 'short');
  assert.deepEqual(onlyOlder?.otherVersion, { minor: '1.31', isOlder: true });
});

test('with no healthy server at all the preferred version is tried: its /readyz may be wrong', () => {
  const chosen = choiceWith({ avoided: ['preferred', 'newer', 'older'] }).choose(byVersion(), 'short');
  assert.equal(chosen?.server.id, 'preferred');
});

test('an older version is asked when no other is left', () => {
  const choice = choiceWith({ restarting: ['preferred', 'newer'] });
  assert.equal(choice.choose(byVersion(), 'short')?.server.id, 'older');
});

test('the second try does not ask the same server, and may ask another version', () => {
  assert.equal(choiceWith().choose(byVersion(), 'short', new Set([preferred]))?.server.id, 'newer');
});

test('a request is in flight until its end, which counts once', () => {
  const load = new ServerLoad(() => 0);
  const one = load.begin('a', 'short');
  const other = load.begin('a', 'short');
  assert.equal(load.counts('a', 'short').inFlight, 2);
  one.end();
  one.end();
  assert.equal(load.counts('a', 'short').inFlight, 1);
  other.end();
  assert.equal(load.counts('a', 'short').inFlight, 0);
});

test('a server that could not be reached is avoided for a while, or until it answers', () => {
  let now = 0;
  const load = new ServerLoad(() => now);
  load.notReached('a');
  load.notReached('b');
  assert.equal(load.isAvoided('a'), true);
  load.reached('a');
  assert.equal(load.isAvoided('a'), false);
  assert.equal(load.isAvoided('b'), true);
  now = 5_000;
  assert.equal(load.isAvoided('b'), false);
});

const serverCalled = (id: string): RoutingServer => ({
  id,
  origin: `https://${id}.example:6443`,
  serverName: 'kubernetes.default.svc',
  version: undefined,
  minor: undefined,
  stale: false,
  departed: false,
});
const [a, b, c] = [serverCalled('a'), serverCalled('b'), serverCalled('c')];
const chosenOf = (
  candidates: readonly RoutingServer[],
  circumstances: Circumstances,
  random: () => number = () => 0,
  asked: readonly RoutingServer[] = [],
) => choiceWith(circumstances, random).choose({ candidates }, 'short', new Set(asked))?.server;

test('of two drawn servers the one with fewer requests in flight is taken', () => {
  for (const draw of [0, 0.49, 0.51, 0.99]) {
    assert.equal(
      chosenOf([a, b], { inFlight: { a: 5, b: 1 } }, () => draw),
      b,
    );
  }
});

test('equal load is spread by the draw', () => {
  assert.equal(chosenOf([a, b, c], {}), a);
  assert.equal(
    chosenOf([a, b, c], {}, () => 0.99),
    c,
  );
});

test('a server that could not be reached is taken only when nothing else is left', () => {
  assert.equal(chosenOf([a, b], { inFlight: { b: 99 }, avoided: ['a'] }), b);
  assert.notEqual(chosenOf([a, b], { avoided: ['a', 'b'] }), undefined);
});

test('servers that were tried already are never taken again', () => {
  assert.equal(
    chosenOf([a], {}, () => 0, [a]),
    undefined,
  );
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.constantFrom(a, b, c), { minLength: 1 }),
      fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 2, maxLength: 2 }),
      fc.uniqueArray(fc.constantFrom('a', 'b', 'c')),
      fc.subarray([a, b, c]),
      (candidates, draws, avoided, asked) => {
        let draw = 0;
        const random = () => draws[draw++ % 2] as number;
        const chosen = chosenOf(candidates, { avoided }, random, asked);
        const left = candidates.filter((each) => !asked.includes(each));
        assert.equal(chosen === undefined, left.length === 0);
        assert.ok(chosen === undefined || left.includes(chosen));
      },
    ),
  );
});

test('somebody is always chosen, whatever health says', () => {
  const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.constantFrom(a, b, c), { minLength: 1 }),
      fc.infiniteStream(share),
      fc.uniqueArray(fc.constantFrom('a', 'b', 'c')),
      (candidates, draws, avoided) => {
        const random = () => draws.next().value as number;
        const chosen = chosenOf(candidates, { avoided }, random);
        assert.ok(chosen !== undefined && candidates.includes(chosen));
      },
    ),
  );
});

test('whatever is drawn, of four servers of two versions each is asked once before nobody is left', () => {
  const d = server('d', '1.35');
  const candidates: Candidates = {
    candidates: [a],
    versions: {
      preferred: '1.36',
      asked: '1.36',
      others: [{ minor: '1.35', serverIds: new Set(['b', 'c', 'd']), reachable: [b, c, d] }],
      ofEveryServer: true,
    },
  };
  fc.assert(
    fc.property(fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })), (draws) => {
      const choice = choiceWith({}, () => draws.next().value as number);
      const asked = new Set<RoutingServer>();
      for (let next = choice.choose(candidates, 'short', asked); next !== undefined; ) {
        assert.ok(!asked.has(next.server));
        asked.add(next.server);
        next = choice.choose(candidates, 'short', asked);
      }
      assert.deepEqual(asked, new Set([a, b, c, d]));
    }),
  );
});

/**
 * Each server's share of `count` requests, which come 10 ms after each other; a good one takes 60 ms, a refused one
 * none.
 */
function sharesOf(count: number, statusOf: (id: string) => number, load: ServerLoad, clock: { now: number }) {
  const random = seededRandom(7);
  const choice = new ServerChoice({ load, random });
  const shares = { a: 0, b: 0, c: 0 };
  let running: { readonly until: number; end(): void }[] = [];
  for (let request = 0; request < count; request++) {
    clock.now += 10;
    for (const each of running) if (each.until <= clock.now) each.end();
    running = running.filter(({ until }) => until > clock.now);
    const id = (choice.choose({ candidates: [a, b, c] }, 'short')?.server.id ?? 'a') as 'a' | 'b' | 'c';
    shares[id] += 1;
    const sent = load.begin(id, 'short');
    const status = statusOf(id);
    if (status === 200) {
      // The head comes after 60 ms.
      const begunAt = clock.now;
      running.push({
        until: begunAt + 60,
        end() {
          const now = clock.now;
          clock.now = begunAt + 60;
          sent.responded(200);
          clock.now = now;
          sent.end();
        },
      });
    } else {
      sent.responded(status);
      sent.end();
    }
  }
  return { a: shares.a / count, b: shares.b / count, c: shares.c / count };
}

const isAThird = (share: number): boolean => Math.abs(share - 1 / 3) < 0.05;

for (const status of [429, 500, 503, 401]) {
  test(`a server that refuses at once, with ${status}, gets no more than its share`, () => {
    const clock = { now: 0 };
    const load = new ServerLoad(() => clock.now);
    sharesOf(300, () => 200, load, clock);
    const shares = sharesOf(3_000, (id) => (id === 'a' ? status : 200), load, clock);
    assert.ok(isAThird(shares.a), JSON.stringify(shares));
    // Once it works again, what it has refused is forgotten.
    sharesOf(100, () => 200, load, clock);
    assert.ok(isAThird(sharesOf(3_000, () => 200, load, clock).a));
  });
}

test('a server that has come back without watches gets its share of short requests, and the next watches', () => {
  const clock = { now: 0 };
  const load = new ServerLoad(() => clock.now);
  for (let watch = 0; watch < 300; watch++) for (const id of ['a', 'b']) load.begin(id, 'longRunning');
  const shares = sharesOf(3_000, () => 200, load, clock);
  assert.ok(isAThird(shares.a) && isAThird(shares.b) && isAThird(shares.c), JSON.stringify(shares));
  const choice = new ServerChoice({ load, random: seededRandom(7) });
  for (let watch = 0; watch < 300; watch++) {
    load.begin(choice.choose({ candidates: [a, b, c] }, 'longRunning')?.server.id ?? '', 'longRunning');
  }
  assert.ok(load.counts('c', 'longRunning').inFlight > 150, `${load.counts('c', 'longRunning').inFlight}`);
});

test('a server that refuses watches at once does not draw all of them', () => {
  const clock = { now: 0 };
  const load = new ServerLoad(() => clock.now);
  for (let watch = 0; watch < 20; watch++) for (const id of ['a', 'b']) load.begin(id, 'longRunning');
  const choice = new ServerChoice({ load, random: seededRandom(7) });
  let refused = 0;
  for (let watch = 0; watch < 300; watch++) {
    clock.now += 10;
    const id = choice.choose({ candidates: [a, b, c] }, 'longRunning')?.server.id ?? '';
    const sent = load.begin(id, 'longRunning');
    if (id !== 'c') continue;
    refused += 1;
    sent.responded(429);
    sent.end();
  }
  assert.ok(refused < 130, `${refused}`);
});
