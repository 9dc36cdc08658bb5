import assert from 'node:assert/strict';
import { test } from 'node:test';
import { longRunningWithin, maxConnectionsFor, openFilesLimit } from './traffic-control.ts';

const limits = (soft: string): string =>
  [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max processes             63432                63432                processes ',
    `Max open files            ${soft.padEnd(20)} 524288               files     `,
    'Max locked memory         8388608              8388608              bytes     ',
  ].join('\n');

test('the soft limit of open files is read, whatever it is', () => {
  assert.equal(openFilesLimit(limits('1024')), 1024);
  assert.equal(openFilesLimit(limits('unlimited')), Number.POSITIVE_INFINITY);
  assert.equal(openFilesLimit('nothing of the kind'), undefined);
});

test('clients get half of the files, as many connections as there is memory for, and never none at all', () => {
  const gibibyte = 2 ** 30;
  assert.equal(maxConnectionsFor(20_256, 64 * gibibyte), 10_000);
  assert.equal(maxConnectionsFor(256, 64 * gibibyte), 96);
  assert.equal(maxConnectionsFor(1, 64 * gibibyte), 1);
  assert.equal(maxConnectionsFor(undefined, 64 * gibibyte), 10_000);
  assert.equal(maxConnectionsFor(Number.POSITIVE_INFINITY, 64 * gibibyte), 10_000);
  assert.equal(maxConnectionsFor(65_536, gibibyte / 2), 2_048);
  assert.equal(maxConnectionsFor(65_536, 4 * gibibyte), 16_384);
});

test('long-running requests are bounded by memory, too, unless no limit is asked for', () => {
  const mebibyte = 2 ** 20;
  assert.equal(longRunningWithin(20_000, 512 * mebibyte), 3_276);
  assert.equal(longRunningWithin(20_000, 4_096 * mebibyte), 20_000);
  assert.equal(longRunningWithin(100, 512 * mebibyte), 100);
  assert.equal(longRunningWithin(0, 512 * mebibyte), 0);
  assert.equal(longRunningWithin(20_000, 1), 1);
});
