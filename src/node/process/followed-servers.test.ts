import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { settle } from '../../../test/support/manual-clock.ts';
import { recordingTransport } from '../../../test/support/routers/recording-transport.ts';
import { type ServerOptions, snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { TransportError } from '../../request/destination.ts';
import { defaultIdentityHeaderNames } from '../../request/headers.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { FollowedServers } from './followed-servers.ts';

/** Servers of two versions that have been asked once, and respond, or not, as `behaves` says. */
async function askedServers(
  context: TestContext,
  behaves: Record<string, 'responds' | 'refuses' | 'is silent'>,
  more: Readonly<Record<string, Partial<ServerOptions>>> = {},
) {
  context.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  const begun = performance.now();
  let passed = 0;
  const clock = context.mock.method(performance, 'now', () => begun + passed);
  const date = Date.now();
  // However busy the machine is, this process does not stand still.
  const wall = context.mock.method(Date, 'now', () => date + passed);
  const servers = Object.keys(behaves).map((id, index): [string, ServerOptions] => [
    id,
    { serves: ['v1/pods'], version: `v1.${35 + index}.0`, ...more[id] },
  ]);
  const transport = recordingTransport(({ destination }) => {
    const how = behaves[destination.id];
    if (how === 'responds') return new Response('ok');
    const code = how === 'refuses' ? 'ConnectFailed' : 'Timeout';
    throw new TransportError(code, 'no response', { mayHaveBeenProcessed: false });
  });
  let changes = 0;
  const followed = new FollowedServers({
    transport,
    local: undefined,
    answersOf: () => ({ awaiting: 0, responses: 0 }),
    pseudonym: 'router-1',
    identityHeaderNames: defaultIdentityHeaderNames,
    config: { interval: 5_000, timeout: 2_000, rise: 1, fall: 3 },
    endConnections() {},
    onChanged: () => void changes++,
    logger: silentLogger,
  });
  const table = buildRoutingTable(snapshotOf(Object.fromEntries(servers)));
  followed.follow(undefined);
  followed.follow(table);
  const isTried = !followed.health.areToBeTried();
  for (let turn = 0; turn < 20; turn++) await settle();
  const pass = async (milliseconds: number) => {
    for (const end = passed + milliseconds; passed < end; ) {
      passed += 250;
      context.mock.timers.tick(250);
      for (let turn = 0; turn < 4; turn++) await settle();
    }
  };
  const stop = () => {
    followed.stop();
    context.mock.timers.reset();
    clock.mock.restore();
    wall.mock.restore();
  };
  const asked = () => new Set(transport.sent.map(({ destination: { id, origin } }) => `${id} at ${origin}`));
  const seen = () => changes;
  return {
    begun,
    followed,
    asked,
    seen,
    isTried,
    tell: () => followed.follow(table),
    pass,
    stop,
    originOf: (id: string) => table.server(id)?.origin,
  };
}

async function confirmation(...given: Parameters<typeof askedServers>) {
  const { begun, followed, stop } = await askedServers(...given);
  const confirmedAt = followed.confirmedAt();
  stop();
  return confirmedAt === undefined ? 'not confirmed' : confirmedAt >= begun ? 'confirmed' : 'too early';
}

test('what is known of servers is confirmed since each has been asked that responds, or refuses connections', async (context) => {
  assert.equal(await confirmation(context, { a: 'responds', b: 'refuses' }), 'confirmed');
});

test('a server that is silent confirms nothing', async (context) => {
  assert.equal(await confirmation(context, { a: 'responds', b: 'is silent' }), 'not confirmed');
});

test('a silent server that whoever reads the cluster cannot reach either is not waited for', async (context) => {
  const stale = { b: { stale: true } };
  assert.equal(await confirmation(context, { a: 'responds', b: 'is silent' }, stale), 'confirmed');
  const unread = { b: { stale: true, unread: true } };
  assert.equal(
    await confirmation(context, { a: 'responds', b: 'is silent' }, unread),
    'not confirmed',
    'another process holds its Lease',
  );
});

test('a server that comes back under another ID was confirmed last by the one at its address, and no other by it', async (context) => {
  const { followed, originOf, stop } = await askedServers(context, { a: 'responds' });
  const origin = originOf('a');
  assert.ok(origin);
  assert.ok(followed.serverConfirmedAt('a', undefined) !== undefined);
  assert.equal(followed.serverConfirmedAt('new', origin), followed.serverConfirmedAt('a', undefined));
  assert.equal(followed.serverConfirmedAt('new', 'https://10.9.9.9:6443'), undefined);
  assert.equal(followed.serverConfirmedAt('new', undefined), undefined);
  stop();
});

const departedAt = '2026-11-29T12:00:00Z';

test('a server that has departed is asked where it was, and whoever reads the cluster is told that it is back', async (context) => {
  const { asked, seen, stop } = await askedServers(
    context,
    { a: 'responds', b: 'responds' },
    { b: { departedAt } },
  );
  stop();
  assert.deepEqual([...asked()].toSorted(), ['a at https://10.0.0.1:6443', 'b at https://10.0.0.2:6443']);
  assert.equal(seen(), 1);
});

test('a server that has departed and is silent is waited for by nobody', async (context) => {
  const { followed, stop } = await askedServers(
    context,
    { a: 'responds', b: 'is silent' },
    { b: { departedAt } },
  );
  assert.ok(followed.confirmedAt() !== undefined);
  assert.equal(followed.health.areToBeTried(), false);
  stop();
});

test('where another server has taken its address nobody asks for the one that has departed', async (context) => {
  const address = '10.0.0.1:6443';
  const { asked, stop } = await askedServers(
    context,
    { a: 'responds', b: 'responds' },
    { b: { departedAt, address } },
  );
  stop();
  assert.deepEqual([...asked()], ['a at https://10.0.0.1:6443']);
});

test('what the first snapshot of a process says of a server holds once a probe has verified it', async (context) => {
  const { isTried, followed, stop } = await askedServers(context, { a: 'responds' });
  assert.deepEqual([isTried, followed.health.areToBeTried()], [false, false]);
  stop();
});

test('a server that falls silent is told of, for as long as the snapshot may not know better; who is cut off from all is told of all', async (context) => {
  const late = async (
    silent: readonly string[],
    passed: number,
    more: Parameters<typeof askedServers>[2] = {},
  ) => {
    const behaves: Parameters<typeof askedServers>[1] = { a: 'responds', b: 'responds' };
    const { followed, pass, stop } = await askedServers(context, behaves, more);
    for (const id of silent) behaves[id] = 'is silent';
    await pass(passed);
    const unconfirmed = followed.unconfirmed(6_000);
    stop();
    return unconfirmed && [[...unconfirmed.silent], [...unconfirmed.mayDiffer]];
  };
  const stale = { b: { stale: true } };
  assert.deepEqual(await late(['b'], 5_000), undefined);
  assert.deepEqual(await late(['b'], 7_000), [['b'], ['b']]);
  assert.deepEqual(await late(['b'], 61_000), [['b'], []], 'whoever reads the cluster has told by then');
  assert.deepEqual(await late(['b'], 7_000, stale), [['b'], []], 'nor can that one reach it');
  const all = ['a', 'b'];
  assert.deepEqual(await late(all, 61_000, stale), [all, all]);
});

test('after a time without any server no snapshot of before is a word on those that stay silent', async (context) => {
  const behaves: Parameters<typeof askedServers>[1] = { a: 'responds', b: 'responds' };
  const { followed, pass, tell, stop } = await askedServers(context, behaves, { b: { stale: true } });
  const known = () => {
    const { mayDiffer = new Set<string>() } = followed.unconfirmed(6_000) ?? {};
    return [followed.untold(), ...mayDiffer];
  };
  for (const id of ['a', 'b']) behaves[id] = 'is silent';
  await pass(8_000);
  assert.deepEqual(known(), ['isolated', 'a', 'b']);
  behaves['a'] = 'responds';
  await pass(6_000);
  assert.deepEqual(known(), ['not told yet', 'b']);
  tell();
  assert.deepEqual(known(), [undefined]);
  stop();
});
