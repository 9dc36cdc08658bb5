import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { jsonDocument, plainNotFound } from '../../../test/support/api-servers/fake-server-documents.ts';
import { listResponse, scriptedWatch, thing } from '../../../test/support/api-servers/scripted-watch.ts';
import { manualClock, settle } from '../../../test/support/manual-clock.ts';
import { ReadError } from '../documents/server-documents.ts';
import { defaultTiming } from '../documents/timing.ts';
import { objectKey, Reflector } from './reflector.ts';

const path = '/apis/g/v1/things?labelSelector=a%3Db';

async function watching(
  context: TestContext,
  prepare: (script: ReturnType<typeof scriptedWatch>) => void = () => {},
) {
  const script = scriptedWatch();
  prepare(script);
  const clock = manualClock();
  let changes = 0;
  const watch = new Reflector({
    path,
    project: (object) => {
      if (objectKey(object).includes('odd')) throw new ReadError('InvalidDocument', 'it is odd');
      return { name: objectKey(object), color: JSON.stringify(object).match(/red|blue/)?.[0] ?? '' };
    },
    reported: ({ name, color }) => [name, color],
    connection: script,
    clock,
    timing: defaultTiming,
    onChange: () => changes++,
  });
  const controller = new AbortController();
  const running = watch.run(controller.signal);
  context.after(() => {
    controller.abort();
    return running;
  });
  await settle();
  return {
    script,
    clock,
    watch,
    names: () => watch.items()?.map(({ name }) => name),
    changes: () => changes,
    /** The watch that is open now. */
    current: () => {
      const current = script.watches.at(-1);
      assert.ok(current !== undefined);
      return current;
    },
  };
}

const added = (name: string, version: string) => ({ type: 'ADDED', object: thing(name, version) });

test('lists, then watches from where the list ends, for a time and with bookmarks', async (context) => {
  const { script, current, names, watch } = await watching(context, (script) => {
    script.list = () => listResponse([thing('one', '7')], '12');
  });
  await watch.attempted;
  assert.deepEqual(names(), ['/one']);
  assert.deepEqual(script.lists, [`${path}&resourceVersion=0`]);
  assert.deepEqual(Object.fromEntries(current().query), {
    labelSelector: 'a=b',
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion: '12',
    timeoutSeconds: '600',
  });
});

test('follows added, modified and deleted objects in order, and reports changes', async (context) => {
  const { current, names, changes } = await watching(context);
  assert.equal(changes(), 1);
  current().send(added('one', '11'), added('two', '12'));
  await settle();
  assert.deepEqual(names(), ['/one', '/two']);
  assert.equal(changes(), 3);
  current().send({ type: 'MODIFIED', object: thing('one', '13', { renewed: 'again' }) });
  await settle();
  assert.equal(changes(), 3);
  current().send({ type: 'MODIFIED', object: thing('one', '14', { color: 'red' }) });
  current().send({ type: 'DELETED', object: thing('two', '15') });
  await settle();
  assert.deepEqual(names(), ['/one']);
  assert.equal(changes(), 5);
});

test('events in pieces are put together, and half an event is none', async (context) => {
  const { current, clock, names } = await watching(context);
  const text = `${JSON.stringify(added('one', '11'))}\n`;
  current().sendText(text.slice(0, 20));
  current().sendText(text.slice(20) + text.slice(0, 20));
  await settle();
  assert.deepEqual(names(), ['/one']);
  current().end();
  await clock.advance(1000);
  assert.equal(current().query.get('resourceVersion'), '11');
});

test('after the end of a watch, the next starts from the last event or bookmark, without a list', async (context) => {
  const { script, current, clock } = await watching(context);
  current().send(added('one', '11'), { type: 'BOOKMARK', object: { metadata: { resourceVersion: '40' } } });
  await settle();
  current().end();
  await clock.advance(1000);
  assert.equal(script.watches.length, 2);
  assert.equal(current().query.get('resourceVersion'), '40');
  current().breakOff();
  await clock.advance(1000);
  assert.equal(current().query.get('resourceVersion'), '40');
  assert.equal(script.lists.length, 1);
});

test('a watch on which nothing comes is given up and opened again', async (context) => {
  const { script, current, clock, watch } = await watching(context);
  const silent = current();
  await clock.advance(60_000);
  silent.send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: '40' } } });
  await clock.advance(60_000);
  assert.equal(script.watches.length, 1);
  await clock.advance(31_000);
  assert.equal(silent.isGivenUp(), true);
  assert.equal(script.watches.length, 2);
  assert.equal(current().query.get('resourceVersion'), '40');
  assert.equal(watch.failure(), undefined);
});

test('a watch without a response ends after the time of silence', async (context) => {
  const { script, current, clock, watch } = await watching(context, (script) => {
    script.hangs = true;
  });
  const hanging = current();
  await clock.advance(90_000);
  assert.equal(hanging.isGivenUp(), true);
  assert.match(watch.failure() ?? '', /no response to a watch of .* within 90000 ms/);
  script.hangs = false;
  await clock.advance(1000);
  assert.equal(watch.failure(), undefined);
});

test('410 as an event or as the status makes a new list, and objects deleted meanwhile are gone', async (context) => {
  const { script, current, clock, names } = await watching(context, (script) => {
    script.list = () => listResponse([thing('one', '7'), thing('two', '8')]);
  });
  script.list = () => listResponse([thing('two', '8')], '90');
  current().send({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } });
  await clock.advance(1000);
  assert.deepEqual(names(), ['/two']);
  assert.equal(current().query.get('resourceVersion'), '90');
  script.watchStatus = 410;
  current().end();
  await clock.advance(1200);
  assert.equal(script.lists.length, 3);
});

test('a server that returns 410 for every watch gets a growing back-off', async (context) => {
  const { script, clock } = await watching(context, (script) => {
    script.watchStatus = 410;
  });
  await clock.advance(60_000);
  assert.ok(script.lists.length >= 8 && script.lists.length <= 20, `${script.lists.length} lists`);
});

test('a server that ends every watch at once gets a growing back-off', async (context) => {
  const { script, clock } = await watching(context);
  const seen = new Set<object>();
  for (let second = 0; second < 60; second++) {
    for (const open of script.watches) {
      if (!seen.has(open)) open.end();
      seen.add(open);
    }
    await clock.advance(1000);
  }
  assert.ok(seen.size >= 8 && seen.size <= 30, `${seen.size} watches`);
});

test('known objects stay while the server is away, and are updated when it is back', async (context) => {
  const { script, current, clock, names, watch, changes } = await watching(context, (script) => {
    script.list = () => listResponse([thing('one', '7')]);
  });
  current().send({ type: 'ERROR', object: { kind: 'Status', code: 410 } });
  script.list = () => {
    throw new ReadError('Unreachable', 'connection refused');
  };
  await clock.advance(30_000);
  assert.deepEqual(names(), ['/one']);
  assert.equal(watch.failure(), 'connection refused');
  const before = changes();
  script.list = () => listResponse([thing('three', '70')], '70');
  await clock.advance(15_000);
  assert.deepEqual(names(), ['/three']);
  assert.equal(watch.failure(), undefined);
  assert.ok(changes() > before);
});

test('attempts at a server that is away come at growing, random distances', async (context) => {
  const { script, clock } = await watching(context, (script) => {
    script.list = () => jsonDocument({ kind: 'Status', code: 403 }, 403);
  });
  const times: number[] = [];
  for (let tick = 0; tick < 300; tick++) {
    const before = script.lists.length;
    await clock.advance(100);
    if (script.lists.length > before) times.push((tick + 1) * 100);
  }
  // With chance at one half, three quarters of 200, 400, 800, … up to 10,000 milliseconds.
  assert.deepEqual(times, [200, 500, 1100, 2300, 4700, 9500, 17000, 24500]);
});

test('nothing is listed again by the clock: a watch that is over goes on where it ended', async (context) => {
  const { script, current, clock, watch } = await watching(context);
  const ended = new Set<object>();
  for (let minute = 1; minute <= 120; minute++) {
    current().send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(100 + minute) } } });
    await clock.advance(60_000);
    // The server ends every other watch when its time is over; the others are not waited for.
    if (minute % 20 === 10 && !ended.has(current())) {
      ended.add(current());
      current().end();
    }
  }
  assert.equal(script.lists.length, 1);
  assert.ok(script.watches.length >= 11 && script.watches.length <= 13, `${script.watches.length} watches`);
  const versions = script.watches.slice(1).map(({ query }) => Number(query.get('resourceVersion')));
  assert.deepEqual(
    versions,
    versions.toSorted((one, other) => one - other),
  );
  assert.ok(versions.every((version) => version > 100));
  assert.equal(watch.failure(), undefined);
});

test('only after a 410, or an answer of no use, is a list asked of etcd; else it is not older than what was seen', async (context) => {
  const { script, current, clock, changes, watch } = await watching(context);
  const last = () => new URLSearchParams(script.lists.at(-1)?.split('?')[1]);
  current().send(added('one', '31'));
  current().sendText('no JSON\n');
  await clock.advance(1000);
  assert.deepEqual([last().get('resourceVersion'), last().get('limit')], ['31', null]);
  script.list = () => listResponse([thing('one', '31')], '40');
  current().send({ type: 'ERROR', object: { kind: 'Status', code: 410 } });
  await clock.advance(1000);
  assert.deepEqual([last().get('resourceVersion'), last().get('limit')], [null, '500']);
  // 410 as the status of a watch is no failure, either: nobody is told of one.
  const before = changes();
  const opened = script.watches.length;
  script.watchStatus = 410;
  current().end();
  while (script.watches.length === opened) await clock.advance(100);
  assert.deepEqual([changes(), watch.failure()], [before, undefined]);
  script.watchStatus = 200;
  await clock.advance(3000);
  assert.equal(last().get('resourceVersion'), null);
  assert.deepEqual([changes(), watch.failure()], [before, undefined]);
  // The server's cache does not have it, and will not for a while: its answer is 504.
  const timeout = { kind: 'Status', code: 504, message: 'Too large resource version' };
  script.list = (asked) =>
    asked.includes('resourceVersion') ? jsonDocument(timeout, 504) : listResponse([thing('two', '50')], '50');
  current().sendText('no JSON\n');
  await clock.advance(20_000);
  assert.equal(last().get('limit'), '500');
  assert.deepEqual(
    watch.items()?.map(({ name }) => name),
    ['/two'],
  );
});

test('of a kind without objects a bookmark a minute is enough, though its objects would change all the time', async (context) => {
  const script = scriptedWatch();
  const clock = manualClock();
  const reflector = new Reflector({
    path,
    project: objectKey,
    connection: script,
    clock,
    timing: defaultTiming,
    silenceWithItems: 35_000,
    onChange: () => {},
  });
  const controller = new AbortController();
  const running = reflector.run(controller.signal);
  context.after(() => {
    controller.abort();
    return running;
  });
  await settle();
  const current = () => script.watches.at(-1) ?? assert.fail('there is no watch');
  for (let minute = 1; minute < 9; minute++) {
    await clock.advance(60_000);
    current().send({ type: 'BOOKMARK', object: { metadata: { resourceVersion: String(100 + minute) } } });
  }
  await settle();
  assert.equal(script.watches.length, 1);
  current().send(added('one', '200'));
  await clock.advance(1000);
  const first = current();
  await clock.advance(35_000);
  assert.equal(first.isGivenUp(), true);
});

test('a line that is no event makes a new list: something may be missing', async (context) => {
  for (const line of [
    'no JSON\n',
    '{"type":"UNKNOWN","object":{}}\n',
    `${JSON.stringify(added('odd', '11'))}\n`,
  ]) {
    const { script, current, clock } = await watching(context);
    current().sendText(line);
    await clock.advance(1000);
    assert.equal(script.lists.length, 2, line);
  }
});

test('of a kind that is not served nothing is known, not that there is nothing; known objects of it stay', async (context) => {
  const { watch, names } = await watching(context, (script) => {
    script.list = () => plainNotFound;
  });
  await watch.attempted;
  assert.equal(names(), undefined);
  assert.equal(watch.failure(), undefined);

  const second = await watching(context, (script) => {
    script.list = () => listResponse([thing('one', '7')]);
  });
  second.script.list = () => plainNotFound;
  second.current().send({ type: 'ERROR', object: { kind: 'Status', code: 410 } });
  await second.clock.advance(1000);
  assert.deepEqual(second.names(), ['/one']);
});

test('a watch through a server without the kind is no failure: it is listed again', async (context) => {
  const { script, clock, names, watch } = await watching(context, (script) => {
    script.list = () => listResponse([thing('one', '7')]);
    script.watchStatus = 404;
  });
  script.list = () => plainNotFound;
  await clock.advance(1000);
  assert.equal(script.lists.length, 2);
  assert.deepEqual(names(), ['/one']);
  assert.equal(watch.failure(), undefined);
  script.list = () => listResponse([thing('two', '9')]);
  script.watchStatus = 200;
  await clock.advance(61_000);
  assert.deepEqual(names(), ['/two']);
});
