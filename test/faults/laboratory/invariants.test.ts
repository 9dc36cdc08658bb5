import assert from 'node:assert/strict';
import { test } from 'node:test';
import { invariants, violationsIn } from './invariants.ts';
import type { ClientAnswer, LaboratoryRecord, SeenRequest, ServerAnswer } from './record.ts';

const target = '/apis/batch/v1/jobs';
const sent: ServerAnswer = { status: 200, content: 'list', end: 'whole', refused: false };
const seen: SeenRequest = {
  server: 'peer',
  requestId: 'one',
  protocol: 'h2',
  method: 'GET',
  target,
  users: ['alice'],
  groups: ['dev', 'system:authenticated'],
  marks: ['true'],
  via: ['1.1 router'],
  clientCertificate: 'front-proxy-client',
  body: '',
  answer: sent,
  isOver: true,
};
const got: ClientAnswer = {
  requestId: 'one',
  protocol: 'h2',
  method: 'GET',
  target,
  caller: 'alice',
  isWatch: false,
  status: 200,
  content: 'list',
  end: 'whole',
  gaveUp: false,
};
const good: LaboratoryRecord = {
  servers: [{ name: 'peer', serves: ['batch/v1/jobs'], isHealthy: true }],
  seen: [seen],
  answers: [got],
  endsWatches: false,
};

const noResponse: ServerAnswer = { status: undefined, content: '', end: 'broken', refused: false };
const events = '{"n":1}\n{"n":2}\n';
const watched: ServerAnswer = { ...sent, content: events, end: 'broken' };

function record(changes: {
  readonly seen?: readonly Partial<SeenRequest>[];
  readonly got?: Partial<ClientAnswer>;
  readonly endsWatches?: boolean;
}): LaboratoryRecord {
  return {
    ...good,
    endsWatches: changes.endsWatches ?? false,
    seen: (changes.seen ?? [{}]).map((each) => ({ ...seen, ...each })),
    answers: [{ ...got, ...changes.got }],
  };
}

function watch(
  content: string,
  end: ClientAnswer['end'],
  answer = watched,
  endsWatches = false,
): LaboratoryRecord {
  return record({ seen: [{ answer }], got: { isWatch: true, content, end }, endsWatches });
}

/** Records that would each be a fault of the router, by the only invariant that has to notice it. */
const violations: Readonly<Record<string, Readonly<Record<string, LaboratoryRecord>>>> = {
  'no false 404 for what a live server serves': {
    'a 404 of the router': record({ seen: [], got: { status: 404, content: 'not found' } }),
    'a 404 of a server that was asked in error': record({
      seen: [{ server: 'local', answer: { ...sent, status: 404 } }],
      got: { status: 404 },
    }),
  },
  'never two hops': {
    'a peer that has sent it on': record({ seen: [{ via: ['1.1 a', '1.1 b'] }] }),
    'three routers': record({ seen: [{ marks: [], via: ['1.1 a', '1.1 b', '1.1 c'] }] }),
    'the mark twice': record({ seen: [{ marks: ['true', 'true'] }] }),
  },
  'never another identity': {
    'another user': record({ seen: [{ users: ['root'] }] }),
    'one more user': record({ seen: [{ users: ['alice', 'root'] }] }),
    'one more group': record({ seen: [{ groups: ['dev', 'system:authenticated', 'system:masters'] }] }),
    'a user without the certificate that vouches for it': record({
      seen: [{ clientCertificate: undefined }],
    }),
    'a user for somebody whom the router does not know': record({ got: { caller: 'nobody' } }),
    'a request that nobody has sent': { ...good, seen: [seen, { ...seen, requestId: 'smuggled' }] },
  },
  'never a write twice': {
    'at two servers': record({
      seen: [{ server: 'first', answer: noResponse }, { server: 'second' }],
      got: { method: 'POST' },
    }),
    'at one server': record({ seen: [{ answer: noResponse }, {}], got: { method: 'DELETE' } }),
  },
  '503 only when no candidate answered': {
    'the answer of a server was dropped': record({
      seen: [{ method: 'POST' }],
      got: { method: 'POST', status: 503, content: 'Status' },
    }),
    'the other server was not tried': record({ seen: [{ answer: noResponse }], got: { status: 503 } }),
  },
  'a watch sees every event or a clean end': {
    'an event is missing': watch('{"n":2}\n', 'broken'),
    'an event comes twice': watch(`{"n":1}\n${events}`, 'open'),
    'a clean end in the middle of an event': watch('{"n":1}\n{"n"', 'whole', watched, true),
    'a clean end of a watch that the server has not ended': watch(events, 'whole', {
      ...watched,
      end: 'open',
    }),
    'a clean end before the last event': watch('{"n":1}\n', 'whole', { ...watched, end: 'whole' }),
    'no server has sent it': record({ seen: [], got: { isWatch: true } }),
  },
  'a part never passes for the whole': {
    'a list that broke off': record({ seen: [{ answer: { ...sent, end: 'broken' } }] }),
    'a list that is not over': record({ seen: [{ answer: { ...sent, end: 'open' } }] }),
    'content that got lost': record({ got: { content: 'li' } }),
  },
  'no exchange is left running': {
    'after the answer': record({ seen: [{ isOver: false }] }),
    'after the client has gone': record({ seen: [{ isOver: false }], got: { end: 'open', gaveUp: true } }),
  },
};

test('a good experiment violates nothing', () => {
  assert.deepEqual(violationsIn(good), []);
});

const harmless: Readonly<Record<string, LaboratoryRecord>> = {
  'a write that its first server has refused': record({
    seen: [{ answer: { ...noResponse, refused: true } }, {}],
    got: { method: 'POST' },
  }),
  'a 503 that a server has answered': record({
    seen: [{ answer: { ...sent, status: 503 } }],
    got: { status: 503, method: 'POST' },
  }),
  'a watch that breaks off where the server broke off': watch(events, 'broken'),
  'a watch that ends between two events where the server broke off': watch('{"n":1}\n', 'whole'),
  'a watch that is ended between two events by a router that shuts down': watch(
    events,
    'whole',
    watched,
    true,
  ),
  'a peer’s router that hands a rerouted request to its own server': record({
    seen: [{ marks: [], via: ['1.1 a', '1.1 b'] }],
  }),
};

for (const [name, harmlessRecord] of Object.entries(harmless)) {
  test(`no violation: ${name}`, () => assert.deepEqual(violationsIn(harmlessRecord), []));
}

for (const [name, records] of Object.entries(violations)) {
  for (const [what, bad] of Object.entries(records)) {
    test(`${name}: noticed: ${what}`, () => {
      const found = violationsIn(bad);
      assert.ok(found.length > 0);
      assert.ok(
        found.every((violation) => violation.startsWith(`${name}: `)),
        found.join('\n'),
      );
    });
  }
}

test('every invariant has its violations', () => {
  assert.deepEqual(Object.keys(violations), Object.keys(invariants));
});
