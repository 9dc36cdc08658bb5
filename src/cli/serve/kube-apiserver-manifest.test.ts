import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { kubeadmManifest } from '../../../test/support/installation/kubeadm-layout.ts';
import { parseKubeApiServerManifest } from './kube-apiserver-manifest.ts';

/** A pod whose first container is started with these words. */
const startedWith = (...command: string[]) => JSON.stringify({ spec: { containers: [{ command }] } });
const flagsOf = (...command: string[]) =>
  Object.fromEntries(parseKubeApiServerManifest(startedWith(...command)).flags);

describe('the static pod of kube-apiserver', () => {
  it('tells the flags that kubeadm has written, and where their files are on the node', () => {
    const manifest = parseKubeApiServerManifest(
      kubeadmManifest({ pki: '/srv/kubernetes/pki', securePort: 6444 }),
    );
    assert.equal(manifest.flags.get('secure-port'), '6444');
    assert.equal(manifest.flags.get('authorization-mode'), 'Node,RBAC');
    assert.equal(manifest.hostPath('/etc/kubernetes/pki/etcd/ca.crt'), '/srv/kubernetes/pki/etcd/ca.crt');
    assert.equal(manifest.hostPath('/etc/kubernetes/pki-of-others/ca.crt'), undefined);
    assert.equal(manifest.hostPath('/etc/kubernetes/pki/../admin.conf'), undefined);
  });

  it('is read by the mount nearest to a file, and knows none of a file that is not the node’s', () => {
    const pod = parse(kubeadmManifest({ pki: '/srv/pki', securePort: 6444 }));
    const [container] = pod.spec.containers;
    container.volumeMounts.push(
      { name: 'secret', mountPath: '/etc/kubernetes/pki/secret' },
      { name: 'k8s-certs', mountPath: '/single.crt', subPath: 'single.crt' },
    );
    pod.spec.volumes.push({ name: 'secret', secret: { secretName: 's' } });
    const { hostPath } = parseKubeApiServerManifest(JSON.stringify(pod));
    assert.equal(hostPath('/etc/kubernetes/pki/ca.crt'), '/srv/pki/ca.crt');
    assert.equal(hostPath('/etc/kubernetes/pki/secret/ca.crt'), undefined);
    assert.equal(hostPath('/single.crt'), undefined);
  });

  it('is read as kube-apiserver reads its words: last, in two words, with underscores, without a value', () => {
    assert.deepEqual(
      flagsOf(
        '/usr/local/bin/kube-apiserver',
        '--secure-port=1',
        '--secure_port',
        '6444',
        '--profiling',
        '-v=2',
      ),
      { 'secure-port': '6444', profiling: 'true' },
    );
  });

  it('is read behind a wrapper, whose own flags are not kube-apiserver’s', () => {
    assert.deepEqual(flagsOf('/go-runner', '--tls-cert-file=x', '/bin/kube-apiserver', '--secure-port=443'), {
      'secure-port': '443',
    });
  });

  it('does not tell a value that only the kubelet knows', () => {
    const words = ['kube-apiserver', '--bind-address=10.0.0.1', '--bind-address=$(HOST_IP)'];
    assert.deepEqual(flagsOf(...words), {});
    const { unknown } = parseKubeApiServerManifest(startedWith(...words));
    assert.deepEqual([...unknown], ['bind-address']);
  });

  it('is refused in words when it is something else, without a word of its text', () => {
    const refused = {
      '- hunter2: [': /^is neither YAML nor JSON$/,
      'kind: Secret': /^is no manifest of a pod$/,
      [startedWith('etcd')]: /^runs no kube-apiserver$/,
      [startedWith('/bin/sh', '-c', 'exec kube-apiserver --secure-port=1')]: /^runs no kube-apiserver$/,
    };
    for (const [text, message] of Object.entries(refused)) {
      assert.throws(() => parseKubeApiServerManifest(text), { name: 'TypeError', message });
    }
  });
});
