import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDns1123Subdomain } from '../apimachinery/names.ts';
import { addressOf } from '../snapshot/addresses/addresses.ts';
import { endpointServerId, parseApiEndpoints, placeOf } from './endpoints.ts';

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
