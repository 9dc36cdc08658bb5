import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  classicResponses,
  type FakeResponse,
  type FakeServer,
  fakeServer,
  hangs,
  jsonDocument,
  refusesConnections,
} from '../../../test/support/api-servers/fake-server-documents.ts';
import { manualClock, mockTimersOfSomeLength, settle } from '../../../test/support/manual-clock.ts';
import { ReadError, type ServerDocument } from '../documents/server-documents.ts';
import { defaultTiming } from '../documents/timing.ts';
import { ServerReaders } from './server-readers.ts';

const responses = classicResponses({ v1: ['pods'] });

function setUp(servers: Readonly<Record<string, FakeServer>>) {
  const clock = manualClock();
  const readers = new ServerReaders({
    clock,
    timing: {
      ...defaultTiming,
      readTimeout: 60_000,
      concurrentServers: 2,
      concurrentDocuments: 4,
      readBackOff: { initialMilliseconds: 1000, maximumMilliseconds: 4000 },
    },
  });
  readers.follow(Object.entries(servers).map(([id, documents]) => ({ id, documents })));
  return { clock, readers, signal: new AbortController().signal };
}

/** IDs of the servers that have been read. */
const read = (records: ReturnType<ServerReaders['records']>) =>
  [...records].flatMap(([id, { reading }]) => (reading?.ok ? [id] : []));

test('a hanging server holds up neither the round nor the next read of the others', async () => {
  const release = Promise.withResolvers<ServerDocument>();
  const hanging = fakeServer({ ...responses, '/api': () => release.promise });
  const healthy = fakeServer(responses);
  const { clock, readers, signal } = setUp({ hanging, healthy });

  const first = readers.round(signal, 2000);
  await clock.advance(2000);
  assert.deepEqual(read(await first), ['healthy']);
  for (let round = 2; round <= 3; round++) {
    // No time passes: longestWait is spent on a slow read once.
    await readers.round(signal, 2000);
    assert.equal(healthy.asked.filter((path) => path === '/version').length, round);
  }
  assert.equal(hanging.asked.filter((path) => path === '/version').length, 1);

  release.resolve({ status: 200, contentType: 'application/json', body: JSON.stringify(responses['/api']) });
  const readings = await readers.round(signal, undefined);
  assert.equal(readings.get('hanging')?.reading?.ok, true);
});

test('a failing server is left alone for longer each time, and read at every round once it is back', async () => {
  const server = fakeServer({ '/api': refusesConnections });
  const { clock, readers, signal } = setUp({ server });
  const reads = () => server.asked.filter((path) => path === '/api').length;
  const readAt: number[] = [];
  const start = clock.now();
  for (let second = 0; second <= 8; second++) {
    const before = reads();
    await readers.round(signal, undefined);
    if (reads() > before) readAt.push(clock.now() - start);
    await clock.advance(1000);
  }
  // Back-off with chance at one half: 750, 1,500 and 3,000 milliseconds, met by rounds a second apart.
  assert.deepEqual(readAt, [0, 1000, 3000, 6000]);

  for (const [path, response] of Object.entries(responses)) server.responses.set(path, response);
  await clock.advance(4000);
  const healed = await readers.round(signal, undefined);
  assert.equal(healed.get('server')?.reading?.ok, true);
  const before = reads();
  await readers.round(signal, undefined);
  assert.ok(reads() > before);
});

test('a server that begins to hang keeps its last reading meanwhile', async () => {
  const server = fakeServer(responses);
  const { clock, readers } = setUp({ server });
  const controller = new AbortController();
  await readers.round(controller.signal, undefined);
  server.responses.set('/api', hangs);
  const round = readers.round(controller.signal, 2000);
  await clock.advance(2000);
  assert.equal((await round).get('server')?.reading?.ok, true);
  controller.abort();
});

test('the end of the sync job is no failure of a server', async () => {
  const server = fakeServer({ ...responses, '/api': hangs });
  const { readers } = setUp({ server });
  const controller = new AbortController();
  const round = readers.round(controller.signal, undefined);
  controller.abort();
  assert.deepEqual(read(await round), []);
});

/** The server's word while it was not ready. */
const earlyOf = (readers: ServerReaders) => readers.records().get('server')?.early?.reading;

const reads = (server: FakeServer) => server.asked.filter((path) => path === '/version').length;

test('a server that is another process now is read at once, whatever its back-off', async () => {
  const server = fakeServer({ '/api': refusesConnections });
  const { readers, signal } = setUp({});
  const follow = (holderIdentity: string | undefined) =>
    readers.follow([{ id: 'server', documents: server, holderIdentity }]);
  follow('first');
  await readers.round(signal, undefined);
  await readers.round(signal, undefined);
  assert.equal(reads(server), 1);
  // That its Lease is not there tells of no restart.
  follow(undefined);
  await readers.round(signal, undefined);
  assert.equal(reads(server), 1);
  follow('first');
  for (const [path, response] of Object.entries(responses)) server.responses.set(path, response);
  follow('second');
  const readings = await readers.round(signal, undefined);
  assert.equal(readings.get('server')?.reading?.ok, true);
});

test('a server is read over new connections that is another process now, or of which somebody knows more', async () => {
  const renewedBefore: number[] = [];
  const documents = fakeServer(responses);
  const server = { ...documents, renewConnections: () => void renewedBefore.push(reads(documents)) };
  const { readers, signal } = setUp({});
  const follow = (holderIdentity: string) =>
    readers.follow([{ id: 'server', documents: server, holderIdentity }]);
  for (const holder of ['first', 'first', 'second']) {
    follow(holder);
    await readers.round(signal, undefined);
  }
  assert.deepEqual([reads(documents), renewedBefore], [3, [2]]);
  readers.renewConnections('another');
  readers.renewConnections('server');
  assert.deepEqual(renewedBefore, [2, 3]);
});

test('what is asked of a host that was down is asked again once somebody hears of it', async () => {
  const server = fakeServer(responses);
  const { readers, signal } = setUp({ server });
  await readers.round(signal, undefined);
  server.responses.set('/api', hangs);
  void readers.round(signal, undefined);
  await settle();
  const asked = server.asked.length;
  server.responses.set('/api', responses['/api'] ?? assert.fail());
  readers.renewConnections('server');
  await readers.round(signal, 0);
  assert.equal(server.asked.length, asked);
  await readers.round(signal, undefined);
  assert.ok(server.asked.slice(asked).includes('/api'));
});

test('a late response of an earlier process does not replace that of the new one', async () => {
  const late = Promise.withResolvers<ServerDocument>();
  const server = fakeServer(responses);
  const { clock, readers, signal } = setUp({});
  readers.follow([{ id: 'server', documents: server, holderIdentity: 'first' }]);
  await readers.round(signal, undefined);
  server.responses.set('/api', () => late.promise);
  const begun = readers.round(signal, 2000);
  await clock.advance(2000);
  await begun;

  const upgraded = classicResponses({ v1: ['pods'], 'batch/v1': ['jobs'] });
  for (const [path, response] of Object.entries(upgraded)) server.responses.set(path, response);
  readers.follow([{ id: 'server', documents: server, holderIdentity: 'second' }]);
  await settle();
  // That the read was dropped is no failure of the server.
  assert.equal(readers.records().get('server')?.reading?.ok, true);
  await readers.round(signal, undefined);
  late.resolve({ status: 500, contentType: 'text/plain', body: 'going' });
  await settle();
  const reading = readers.records().get('server')?.reading;
  assert.deepEqual(reading?.ok === true && reading.set.storageVersions, {
    'core.pods': ['v1'],
    'batch.jobs': ['v1'],
  });
});

test('a server that comes back under another ID became ready after its address was asked for the last time', async () => {
  const address = '127.0.0.1:6443';
  const version = (gitVersion: string) => ({ major: '1', minor: '25', gitVersion });
  const server = fakeServer({ ...responses, '/version': version('v1.25.0') });
  const { clock, readers, signal } = setUp({});
  const readAs = async (...ids: readonly string[]) => {
    readers.follow(ids.map((id) => ({ id, address, documents: server })));
    await readers.round(signal, undefined);
    return ids.map((id) => readers.records().get(id)?.start);
  };
  // Nobody has seen it start.
  assert.deepEqual(await readAs('endpoint'), [undefined]);
  const notReadyAt = clock.monotonic();
  await clock.advance(500);
  server.responses.set('/version', version('v1.26.0'));
  const start = { notReadyAt, readyAt: clock.monotonic() };
  assert.deepEqual(await readAs('lease'), [start]);
  // The same process under one more ID became ready when it did.
  await clock.advance(500);
  assert.deepEqual(await readAs('lease', 'next'), [start, start]);
  // A process that was lost in between is another one, at the same version, too.
  server.responses.set('/api', refusesConnections);
  await readAs('next');
  const lastReadAt = clock.monotonic();
  await clock.advance(500);
  server.responses.set('/api', responses['/api'] ?? assert.fail());
  assert.deepEqual(await readAs('last'), [{ notReadyAt: lastReadAt, readyAt: clock.monotonic() }]);
});

test('a server with a new address is read there, and one that is gone is forgotten', async () => {
  const before = fakeServer(responses);
  const after = fakeServer(responses);
  const { readers, signal } = setUp({ other: fakeServer(responses) });
  readers.follow([{ id: 'server', documents: before }]);
  assert.deepEqual(read(await readers.round(signal, undefined)), ['server']);
  readers.follow([{ id: 'server', documents: after }]);
  // Until it was read there, its last reading counts.
  assert.equal(readers.records().get('server')?.reading?.ok, true);
  await readers.round(signal, undefined);
  assert.deepEqual([reads(before), reads(after)], [1, 1]);
  readers.follow([]);
  assert.equal((await readers.round(signal, undefined)).size, 0);
});

test('a server that was lost is read while it starts, counts once it is ready, and holds up nobody', async (context) => {
  mockTimersOfSomeLength(context);
  const server = fakeServer(responses);
  const other = fakeServer(responses);
  const { clock, readers, signal } = setUp({ server, other });
  const forbidden = () => jsonDocument({ kind: 'Status' }, 403);
  const upgraded = classicResponses({ v1: ['pods'], 'batch/v1': ['jobs'] });
  const respond = (next: Readonly<Record<string, FakeResponse>>) => {
    server.responses.clear();
    for (const [path, response] of Object.entries(next)) server.responses.set(path, response);
  };
  await readers.round(signal, 2000);
  respond({ '/api': refusesConnections, '/readyz': refusesConnections });
  await readers.round(signal, 2000);
  assert.equal(readers.expectsNews(), true);

  let isHeard = false;
  const news = readers.untilNews(signal, signal).then(() => {
    isHeard = true;
  });
  // The server knows of no role yet, then it accepts and does not respond: neither says that it is ready.
  respond({ ...upgraded, '/readyz': forbidden });
  await clock.advance(300);
  respond({ ...upgraded, '/readyz': hangs });
  await clock.advance(300);
  context.mock.timers.tick(1000);
  assert.deepEqual([isHeard, earlyOf(readers)], [false, undefined]);
  respond({ ...upgraded, '/readyz': () => jsonDocument({}, 500) });
  await clock.advance(300);
  await news;
  const early = earlyOf(readers);
  assert.deepEqual(early?.set.storageVersions['batch.jobs'], ['v1']);
  // A round waits for no answer of it, and what it has said does not count yet.
  server.responses.set('/readyz', hangs);
  assert.equal((await readers.round(signal, 2000)).get('server')?.reading?.ok, false);

  server.responses.set('/readyz', () => jsonDocument({}));
  const asked = [reads(server), reads(other)];
  const ready = readers.untilNews(signal, signal);
  context.mock.timers.tick(1000);
  await clock.advance(300);
  await ready;
  const reading = (await readers.round(signal, 0)).get('server')?.reading;
  assert.deepEqual(reading?.ok === true && reading.set.storageVersions['batch.jobs'], ['v1']);
  assert.deepEqual([reads(server), reads(other)], [(asked[0] ?? 0) + 1, asked[1]]);
  assert.equal(readers.records().get('server')?.start?.readyAt, clock.monotonic() - 200);
  assert.deepEqual([readers.expectsNews(), earlyOf(readers)], [false, undefined]);
});

test('a server that is back ends the wait of a round for a slow one, which is news once it has been read', async () => {
  const server = fakeServer(responses);
  const slow = fakeServer(responses);
  const { clock, readers, signal } = setUp({ server, slow });
  await readers.round(signal, 2000);
  server.responses.set('/api', refusesConnections);
  await readers.round(signal, 2000);
  server.responses.set('/api', { ...responses['/api'] });
  const release = Promise.withResolvers<ServerDocument>();
  slow.responses.set('/api', () => release.promise);
  server.responses.set('/readyz', () => jsonDocument({}, 500));
  await clock.advance(1000);

  const starting = readers.round(signal, 2000);
  await clock.advance(100);
  assert.equal((await starting).get('server')?.reading?.ok, false);
  assert.ok(earlyOf(readers) !== undefined);
  server.responses.set('/readyz', () => jsonDocument({}));
  const ready = readers.untilNews(signal, signal);
  await clock.advance(100);
  await ready;
  assert.equal((await readers.round(signal, 2000)).get('server')?.reading?.ok, true);
  assert.equal(readers.expectsNews(), true);

  const read = readers.untilNews(signal, signal);
  release.resolve({ status: 200, contentType: 'application/json', body: JSON.stringify(responses['/api']) });
  await read;
  assert.equal((await readers.round(signal, 0)).get('slow')?.reading?.ok, true);
  assert.equal(readers.expectsNews(), false);
});

test('why a server cannot be read is said as it is, also while it is asked whether it is ready', async () => {
  const server = fakeServer({ ...responses, '/readyz': () => assert.fail('not asked yet') });
  const { clock, readers, signal } = setUp({ server });
  await readers.round(signal, undefined);
  const reasonNow = async () => {
    await clock.advance(4000);
    const reading = (await readers.round(signal, undefined)).get('server')?.reading;
    return reading?.ok === false ? reading.reason : undefined;
  };
  const untrusted = () => Promise.reject(new ReadError('Unreachable', '/api: self-signed certificate'));
  for (const path of ['/api', '/apis', '/readyz', '/version', '/openapi/v3']) {
    server.responses.set(path, untrusted);
  }
  for (let round = 0; round < 5; round++) assert.equal(await reasonNow(), '/api: self-signed certificate');
  const forbidden: ServerDocument = jsonDocument(
    { kind: 'Status', code: 403, message: 'User "reader" cannot get path "/readyz"' },
    403,
  );
  server.responses.set('/readyz', () => Promise.resolve(forbidden));
  assert.equal(
    await reasonNow(),
    '/readyz returned 403 instead of 200: User "reader" cannot get path "/readyz"',
  );
  server.responses.set('/readyz', () => Promise.resolve(jsonDocument({}, 500)));
  assert.match((await reasonNow()) ?? '', /still starting/);
});

test('a server that is another process since it was read last counts from when it is ready, though nobody has seen it go', async (context) => {
  mockTimersOfSomeLength(context);
  const version = (gitVersion: string) => ({ major: '1', minor: '25', gitVersion });
  const server = fakeServer({ ...responses, '/version': version('v1.25.0') });
  const { clock, readers, signal } = setUp({ server });
  await readers.round(signal, undefined);
  await clock.advance(500);
  server.responses.set('/version', version('v1.26.0'));
  server.responses.set('/readyz', () => jsonDocument({}, 500));
  assert.equal((await readers.round(signal, undefined)).get('server')?.reading?.ok, false);
  assert.equal(earlyOf(readers)?.version, 'v1.26.0');
  assert.equal(readers.records().get('server')?.start, undefined);

  const notReadyAt = clock.monotonic();
  server.responses.set('/readyz', () => jsonDocument({}));
  const ready = readers.untilNews(signal, signal);
  await clock.advance(300);
  await ready;
  assert.equal((await readers.round(signal, 0)).get('server')?.reading?.ok, true);
  assert.deepEqual(readers.records().get('server')?.start, { notReadyAt, readyAt: clock.monotonic() - 200 });
});

test('a server that is met while it starts counts once it is ready', async (context) => {
  mockTimersOfSomeLength(context);
  const server = fakeServer({ ...responses, '/readyz': () => jsonDocument({}, 500) });
  const { clock, readers, signal } = setUp({ server });
  assert.equal((await readers.round(signal, undefined)).get('server')?.reading?.ok, false);
  await settle();
  assert.equal((await readers.round(signal, 0)).get('server')?.reading?.ok, false);
  server.responses.set('/readyz', () => jsonDocument({}));
  const ready = readers.untilNews(signal, signal);
  await clock.advance(300);
  await ready;
  assert.equal((await readers.round(signal, 0)).get('server')?.reading?.ok, true);
});
