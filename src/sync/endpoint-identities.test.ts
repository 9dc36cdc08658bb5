import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { createEndpointIdentities, serverIdsOf } from './endpoints.ts';
import { defaultTiming } from './timing.ts';

const endpoint = (host: string, hostnames: readonly string[] = []) => ({
  address: `${host}:6443`,
  hostnames,
});
const { signal } = new AbortController();

function identitiesFor(names: Map<string, readonly string[] | Error>) {
  const clock = manualClock();
  const asked: string[] = [];
  let changes = 0;
  const identities = createEndpointIdentities({
    async servingNames(address) {
      asked.push(address);
      const found = names.get(address) ?? [];
      if (found instanceof Error) throw found;
      return found;
    },
    clock,
    timing: defaultTiming,
    onChange: () => changes++,
  });
  return { clock, asked, identities, changes: () => changes };
}

test('an endpoint leads to the IDs of every name in its certificate and in the EndpointSlice', async () => {
  const { identities, changes } = identitiesFor(new Map([['10.0.0.1:6443', ['kubernetes', 'cp-a']]]));
  await identities.resolve([endpoint('10.0.0.1', ['node-a']), endpoint('10.0.0.2')], signal);
  const ids = identities.serverIds().get('10.0.0.1:6443') ?? [];
  for (const name of ['node-a', 'kubernetes', 'cp-a']) {
    for (const id of await serverIdsOf(name)) assert.ok(ids.includes(id), name);
  }
  assert.deepEqual(identities.serverIds().get('10.0.0.2:6443'), []);
  assert.equal(changes(), 1);
});

test('an endpoint that cannot be read is read again later, and keeps its IDs', async () => {
  const names = new Map<string, readonly string[] | Error>([['10.0.0.1:6443', new Error('refused')]]);
  const { identities, clock, asked } = identitiesFor(names);
  const resolve = () => identities.resolve([endpoint('10.0.0.1', ['node-a'])], signal);
  await resolve();
  // The EndpointSlice's own word holds all the same.
  assert.deepEqual(identities.serverIds().get('10.0.0.1:6443'), await serverIdsOf('node-a'));
  await resolve();
  assert.equal(asked.length, 1);
  names.set('10.0.0.1:6443', ['cp-a']);
  await clock.advance(1000);
  await resolve();
  const ids = identities.serverIds().get('10.0.0.1:6443');
  assert.equal(ids?.length, 8);
  names.set('10.0.0.1:6443', new Error('refused'));
  await clock.advance(600_000);
  await resolve();
  assert.equal(asked.length, 3);
  assert.deepEqual(identities.serverIds().get('10.0.0.1:6443'), ids);
});

test('an endpoint that is gone is forgotten', async () => {
  const { identities } = identitiesFor(new Map());
  await identities.resolve([endpoint('10.0.0.1')], signal);
  await identities.resolve([], signal);
  assert.equal(identities.serverIds().size, 0);
});
