import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moveKubeApiServer } from '../../../src/cli/install/move-kube-apiserver.ts';
import { routerManifest } from '../../../src/cli/install/router-files.ts';
import { kubeadmManifest } from '../../../test/support/installation/kubeadm-layout.ts';
import { parseStaticPod } from './static-pod.ts';

const kubeadm = kubeadmManifest({ pki: '/etc/kubernetes/pki', securePort: 6443 });
const router = parseStaticPod(routerManifest('registry.example/mixed-version-proxy:1', 6443, []));

test('a static pod is read as a kubelet reads it: named ports of probes, ports of the host, grace and folders', () => {
  const kubeApiServer = parseStaticPod(kubeadm);
  assert.equal(kubeApiServer.livenessProbe?.url, 'https://10.0.0.1:6443/livez');
  assert.deepEqual(kubeApiServer.hostPorts, [6443]);
  assert.equal(kubeApiServer.grace, 30_000);
  assert.equal(router.grace, 90_000);
  assert.equal(router.startupProbe?.url, 'https://127.0.0.1:6443/livez');
  assert.ok(
    router.volumes.some(({ path, type }) => path === '/etc/kubernetes/manifests' && type === 'Directory'),
  );
});

test('a kube-apiserver that has moved and the router have no port of the host in common', () => {
  const { hostPorts } = parseStaticPod(moveKubeApiServer(kubeadm, 6444));
  assert.deepEqual([...hostPorts, ...router.hostPorts], [6444, 6443]);
});

test('a pod that is not on the network of the host is refused', () => {
  assert.throws(() => parseStaticPod(kubeadm.replace('hostNetwork: true', 'hostNetwork: false')));
});
