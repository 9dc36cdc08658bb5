import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { apiServerId } from '../../demo/example-api-server/cluster.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { isDns1123Subdomain } from '../apimachinery/names.ts';
import { addressOf } from '../snapshot/addresses/addresses.ts';
import {
  createEndpointIdentities,
  endpointServerId,
  parseApiEndpoints,
  placeOf,
  serverIdsOf,
} from './endpoints.ts';
import { defaultTiming } from './timing.ts';

test('endpoints of both families, with the port that is named https', () => {
  const ports = [
    { name: 'metrics', port: 9 },
    { name: 'https', port: 6443 },
  ];
  const slice = (addresses: readonly string[], rest = {}) => ({ endpoints: [{ addresses, ...rest }], ports });
  assert.deepEqual(parseApiEndpoints(slice(['10.0.0.1', '10.0.0.2'])), [
    { address: '10.0.0.1:6443', hostnames: [] },
    { address: '10.0.0.2:6443', hostnames: [] },
  ]);
  assert.deepEqual(parseApiEndpoints(slice(['fd00::1'], { nodeName: 'cp-a', hostname: 'cp-a' })), [
    { address: '[fd00::1]:6443', hostnames: ['cp-a'] },
  ]);
});

test('a slice without endpoints, ports or usable addresses holds none', () => {
  assert.deepEqual(parseApiEndpoints({ endpoints: null, ports: null }), []);
  assert.deepEqual(parseApiEndpoints({ endpoints: [{ addresses: ['10.0.0.1'] }], ports: [] }), []);
  const unusable = { endpoints: [{ addresses: ['not a host', '010.0.0.1'] }], ports: [{ port: 6443 }] };
  assert.deepEqual(parseApiEndpoints(unusable), []);
  assert.throws(() => parseApiEndpoints({ endpoints: 'none' }), { code: 'InvalidDocument' });
});

test('the ID of an endpoint is valid in a snapshot', () => {
  assert.equal(endpointServerId('10.0.0.1:6443'), 'endpoint-10-0-0-1-6443');
  for (const address of ['10.0.0.1:6443', '[fd00::1]:6443', '[::1]:1', 'API.example.com:443']) {
    assert.ok(isDns1123Subdomain(endpointServerId(address)), address);
  }
});

test('one place has one name, however it is written', () => {
  assert.equal(placeOf('[FD00:0::1]:6443'), placeOf('[fd00::1]:6443'));
  assert.equal(placeOf('API.example.com:443'), placeOf('api.example.com:443'));
  assert.notEqual(placeOf('10.0.0.1:6443'), placeOf('10.0.0.1:6444'));
  assert.equal(addressOf({ url: 'https://[fd00::1]' }), '[fd00::1]:443');
});

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

test('the IDs of a host are those that real servers took', async () => {
  // test/fixtures: the Leases of 1.26 servers on the hosts cp-a and cp-b.
  assert.ok((await serverIdsOf('cp-b')).includes('kube-apiserver-nxibzygiy5v5qmcjmernh6erfe'));
  assert.ok((await serverIdsOf('cp-a')).includes('kube-apiserver-hxhuy3rsmzqt3nvdbfa4wlpycq'));
});

test('any host name, however long and in whatever script, has the ID that an independent implementation makes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 400 }), async (hostname) => {
      assert.equal((await serverIdsOf(hostname))[0], apiServerId(hostname));
    }),
  );
});
