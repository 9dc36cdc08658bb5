import assert from 'node:assert/strict';
import { test } from 'node:test';
import { majorityOf, parseSteps } from './steps.ts';

const binaries = [35, 36].map((minor) => ({
  version: `1.${minor}`,
  minor,
  path: `kube-apiserver-1.${minor}`,
}));

test('steps name a server and a version that there is', () => {
  assert.deepEqual(parseSteps('b=1.36,a=1.35', binaries), [
    { server: 'b', binary: binaries[1] },
    { server: 'a', binary: binaries[0] },
  ]);
  assert.throws(() => parseSteps('d=1.36', binaries), /d=1.36/);
  assert.throws(() => parseSteps('a=1.34', binaries), /no kube-apiserver 1.34/);
});

test('the majority is the newer version where two have as many servers', () => {
  assert.equal(majorityOf([35, 35, 36]), 35);
  assert.equal(majorityOf([35, 36]), 36);
  assert.equal(majorityOf([31, 35, 36]), 36);
});
