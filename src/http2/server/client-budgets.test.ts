import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeakyBucket } from '../frames/leaky-bucket.ts';
import { AddressResets, addressTolerance, connectionTolerances, resetsInCrowd } from './client-budgets.ts';

/** One connection that resets streams. @returns how many before it is to end */
function resetsOf(addresses: AddressResets, address: string, now: number, most: number): number {
  const own = new LeakyBucket(connectionTolerances.resets);
  for (let count = 0; count < most; count++) {
    if (!own.add(now) || addresses.exceeds(address, own, now)) return count;
  }
  return most;
}

test('attack: a new connection for each batch of resets (CVE-2023-44487) allows only a few each', () => {
  const addresses = new AddressResets();
  const atOnce = Array.from({ length: 100 }, () => resetsOf(addresses, '192.0.2.1', 0, 1_000));
  assert.equal(atOnce[0], connectionTolerances.resets.burst);
  const sum = atOnce.reduce((total, count) => total + count, 0);
  assert.ok(sum <= addressTolerance.burst + 100 * resetsInCrowd, `${sum} resets`);
  assert.equal(atOnce.at(-1), resetsInCrowd);
  // Another address is none of it.
  assert.equal(resetsOf(addresses, '192.0.2.2', 0, 100), 100);
});

test('a client with an attacker’s address may still reset a stream now and then', () => {
  const addresses = new AddressResets();
  for (let count = 0; count < 100; count++) resetsOf(addresses, '192.0.2.1', 0, 1_000);
  assert.equal(resetsOf(addresses, '192.0.2.1', 0, resetsInCrowd), resetsInCrowd);
});

test('resets of an address are forgiven with time', () => {
  const addresses = new AddressResets();
  for (let count = 0; count < 100; count++) resetsOf(addresses, '192.0.2.1', 0, 1_000);
  const longAfter = 60_000;
  assert.equal(resetsOf(addresses, '192.0.2.1', longAfter, 150), 150);
});

test('attack: all addresses of one IPv6 /64 network count together', () => {
  const addresses = new AddressResets();
  for (let count = 0; count < 100; count++) {
    resetsOf(addresses, `2001:db8:0:7::${count.toString(16)}`, 0, 1_000);
  }
  assert.equal(addresses.size, 1);
  assert.equal(resetsOf(addresses, '2001:db8:0:7:1:2:3:4', 0, 1_000), resetsInCrowd);
  assert.equal(resetsOf(addresses, '2001:db8::8:1:2:3:4', 0, 100), 100);
});

test('attack: the number of remembered addresses is bounded', () => {
  const addresses = new AddressResets();
  for (let count = 0; count < 20_000; count++)
    resetsOf(addresses, `192.0.${count >> 8}.${count & 255}`, 0, 1);
  assert.equal(addresses.size, 4_096);
});
