import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v from 'valibot';
import { mirrorPod } from './control-plane.ts';

const metadata = { name: 'kube-apiserver-cp-a', annotations: { 'kubernetes.io/config.hash': 'one' } };
const troubleOf = (status?: object) => v.parse(mirrorPod, { metadata, status }).trouble;

test('a pod that the kubelet does not admit, or whose container does not run, is in trouble', () => {
  assert.equal(
    troubleOf({
      phase: 'Failed',
      reason: 'NodePorts',
      message: 'Pod was rejected: node(s) did not have free ports',
    }),
    'the pod kube-apiserver-cp-a is not run: NodePorts: Pod was rejected: node(s) did not have free ports',
  );
  const state = { terminated: { reason: 'Error', exitCode: 1 } };
  assert.equal(
    troubleOf({ phase: 'Running', containerStatuses: [{ name: 'kube-apiserver', state }] }),
    'the container kube-apiserver of the pod kube-apiserver-cp-a does not run: Error',
  );
});

test('one that runs is in none', () => {
  const state = { running: { startedAt: '2026-01-01T00:00:00Z' } };
  assert.equal(
    troubleOf({ phase: 'Running', containerStatuses: [{ name: 'kube-apiserver', state }] }),
    undefined,
  );
  assert.equal(troubleOf(), undefined);
});
