import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { isDns1123Subdomain } from '../../apimachinery/names.ts';
import { addressOf } from '../../snapshot/addresses/addresses.ts';
import { EndpointNames, endpointServerId, parseApiEndpoints, placeOf } from './endpoints.ts';
import { defaultTiming } from './timing.ts';

test('endpoints of both families, with the port that is named https', () => {
  const ports = [
    { name: 'metrics', port: 9 },
    { name: 'https', port: 6443 },
  ];
  const slice = (addresses: readonly string[]) => ({ endpoints: [{ addresses }], ports });
  assert.deepEqual(parseApiEndpoints(slice(['10.0.0.1', '10.0.0.2'])), ['10.0.0.1:6443', '10.0.0.2:6443']);
  assert.deepEqual(parseApiEndpoints(slice(['fd00::1'])), ['[fd00::1]:6443']);
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

const { signal } = new AbortController();

function namesFor(names: Map<string, readonly string[] | Error>) {
  const clock = manualClock();
  const asked: string[] = [];
  let changes = 0;
  const endpointNames = new EndpointNames({
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
  return { clock, asked, endpointNames, changes: () => changes };
}

test('an endpoint has the names of its certificate', async () => {
  const { endpointNames, changes } = namesFor(new Map([['10.0.0.1:6443', ['kubernetes', 'cp-a']]]));
  await endpointNames.resolve(['10.0.0.1:6443', '10.0.0.2:6443'], signal);
  assert.deepEqual(endpointNames.names().get('10.0.0.1:6443'), ['kubernetes', 'cp-a']);
  assert.deepEqual(endpointNames.names().get('10.0.0.2:6443'), []);
  assert.equal(changes(), 1);
});

test('an endpoint that cannot be read is read again later, and keeps its names', async () => {
  const names = new Map<string, readonly string[] | Error>([['10.0.0.1:6443', new Error('refused')]]);
  const { endpointNames, clock, asked } = namesFor(names);
  const resolve = () => endpointNames.resolve(['10.0.0.1:6443'], signal);
  const known = () => endpointNames.names().get('10.0.0.1:6443');
  await resolve();
  assert.deepEqual(known(), []);
  await resolve();
  assert.equal(asked.length, 1);
  names.set('10.0.0.1:6443', ['cp-a']);
  await clock.advance(1000);
  await resolve();
  assert.deepEqual(known(), ['cp-a']);
  names.set('10.0.0.1:6443', new Error('refused'));
  await clock.advance(600_000);
  await resolve();
  assert.equal(asked.length, 3);
  assert.deepEqual(known(), ['cp-a']);
});

test('an endpoint that is gone is forgotten', async () => {
  const { endpointNames } = namesFor(new Map());
  await endpointNames.resolve(['10.0.0.1:6443'], signal);
  await endpointNames.resolve([], signal);
  assert.equal(endpointNames.names().size, 0);
});
