import assert from 'node:assert/strict';
import { test } from 'node:test';
import { versionSkewFlags } from './version-skew.ts';

test('servers that Kubernetes supports beside each other run as they are', () => {
  assert.deepEqual(versionSkewFlags({ minor: 32 }, [{ minor: 32 }, { minor: 33 }]), []);
});

test('a server of 1.29 has something that one of 1.30 beside it has not', () => {
  const all = [{ minor: 29 }, { minor: 30 }];
  assert.deepEqual(
    all.map((binary) => versionSkewFlags(binary, all)),
    [['--runtime-config=resource.k8s.io/v1alpha2=true'], []],
  );
  assert.deepEqual(versionSkewFlags({ minor: 30 }, [{ minor: 30 }, { minor: 30 }]), []);
});

test('servers of 1.35 and 1.36 have something each that the other has not, and 1.36 a field', () => {
  const all = [{ minor: 35 }, { minor: 36 }];
  assert.deepEqual(
    all.map((binary) => versionSkewFlags(binary, all)),
    [
      ['--feature-gates=GenericWorkload=true', '--runtime-config=scheduling.k8s.io/v1alpha1=true'],
      ['--feature-gates=VolumeLimitScaling=true'],
    ],
  );
});

test('servers further apart share no FlowSchemas, each told in the versions that it knows', () => {
  const all = [{ minor: 25 }, { minor: 33 }];
  const [priority, old] = versionSkewFlags({ minor: 25 }, all);
  assert.equal(priority, '--enable-priority-and-fairness=false');
  assert.equal(
    old,
    '--runtime-config=flowcontrol.apiserver.k8s.io/v1beta1=false,flowcontrol.apiserver.k8s.io/v1beta2=false',
  );
  const [, newer = ''] = versionSkewFlags({ minor: 33 }, all);
  assert.match(newer, /\/v1=false/);
  assert.doesNotMatch(newer, /flowcontrol\.apiserver\.k8s\.io\/v1beta1/);
});

test('an older server further apart serves policies that a newer one no longer has', () => {
  const all = [{ minor: 31 }, { minor: 36 }];
  const [old = '', now = ''] = all.map((minor) => versionSkewFlags(minor, all)[1]);
  assert.match(old, /admissionregistration\.k8s\.io\/v1beta1=true/);
  assert.doesNotMatch(now, /admissionregistration/);
});
