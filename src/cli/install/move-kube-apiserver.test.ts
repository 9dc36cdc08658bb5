import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { kubeadmManifest } from '../../../test/support/installation/kubeadm-layout.ts';
import { diffLines } from './file-change.ts';
import { moveKubeApiServer, securePortOf } from './move-kube-apiserver.ts';

const manifest = (flags: Record<string, string | undefined> = {}) =>
  kubeadmManifest({ pki: '/etc/kubernetes/pki', securePort: 6443, flags });
const refusal = /^is not in the form that kubeadm writes \(.*\): move kube-apiserver by hand$/;

describe('kube-apiserver on another port', () => {
  it('is the same static pod with its flag and the port of its probes changed', () => {
    const moved = moveKubeApiServer(manifest(), 6444);
    assert.equal(securePortOf(moved), 6444);
    const changed = diffLines(manifest().split('\n'), moved.split('\n')).match(/^[-+].*$/gm);
    assert.deepEqual(changed, [
      '-    - --secure-port=6443',
      '+    - --secure-port=6444',
      '-    - { containerPort: 6443, name: probe-port, protocol: TCP }',
      '+    - { containerPort: 6444, name: probe-port, protocol: TCP }',
    ]);
    assert.equal(moveKubeApiServer(moved, 6443), manifest());
    assert.equal(moveKubeApiServer(moved, 6444), moved);
  });

  it('keeps addresses that end alike: the annotation is where clients go', () => {
    assert.match(moveKubeApiServer(manifest(), 6444), /advertise-address\.endpoint: 10\.0\.0\.1:6443/);
  });

  it('gets the flag where it had none', () => {
    const moved = moveKubeApiServer(manifest({ 'secure-port': undefined }), 6444);
    assert.match(moved, /- kube-apiserver\n {4}- --secure-port=6444\n/);
  });

  it('is followed by probes that name a number', () => {
    const numbered = manifest().replaceAll('port: probe-port', 'port: 6443');
    assert.match(moveKubeApiServer(numbered, 6444), /path: \/livez, port: 6444, scheme/);
  });

  it('is as kubeadm writes it without patches, once it is moved back from what it has written with them', () => {
    const patched = manifest()
      .replace('    image:', '    - --secure-port=6444\n    image:')
      .replace('containerPort: 6443', 'containerPort: 6444');
    assert.equal(moveKubeApiServer(patched, 6443), manifest());
  });

  it('is refused where a line cannot be changed without another meaning', () => {
    const forms = [
      manifest().replace('- --secure-port=6443', '- --secure-port\n    - "6443"'),
      manifest().replaceAll('port: probe-port', 'port: 7443'),
      manifest().replace('metadata:', 'metadata:\n  labels: { note: "port: 6443" }\nmetadata-of-others:'),
    ];
    for (const form of forms) {
      assert.throws(() => moveKubeApiServer(form, 6444), { name: 'TypeError', message: refusal });
    }
    assert.throws(() => moveKubeApiServer('kind: Secret', 6444), /is no manifest of a pod/);
  });
});
