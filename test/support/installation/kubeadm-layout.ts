import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DemoCertificates } from '../../../demo/certificates.ts';

/** Settings that differ between nodes, and between tests. */
interface KubeadmManifestOptions {
  /** Where the node has what the container has at /etc/kubernetes/pki. */
  readonly pki: string;
  readonly securePort: number;
  /** Flags added, or put in the place of kubeadm's; `undefined` leaves one out. */
  readonly flags?: Readonly<Record<string, string | undefined>>;
}

/** A static pod in the form in which kubeadm writes that of kube-apiserver. */
export function kubeadmManifest({ pki, securePort, flags = {} }: KubeadmManifestOptions): string {
  const inContainer = (name: string) => `/etc/kubernetes/pki/${name}`;
  const all: Readonly<Record<string, string | undefined>> = {
    'advertise-address': '10.0.0.1',
    'authorization-mode': 'Node,RBAC',
    'client-ca-file': inContainer('ca.crt'),
    'etcd-cafile': inContainer('etcd/ca.crt'),
    'proxy-client-cert-file': inContainer('front-proxy-client.crt'),
    'proxy-client-key-file': inContainer('front-proxy-client.key'),
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-client-ca-file': inContainer('front-proxy-ca.crt'),
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-username-headers': 'X-Remote-User',
    'secure-port': String(securePort),
    'tls-cert-file': inContainer('apiserver.crt'),
    'tls-private-key-file': inContainer('apiserver.key'),
    ...flags,
  };
  const probe = `
      failureThreshold: 8
      httpGet: { host: 10.0.0.1, path: /livez, port: probe-port, scheme: HTTPS }
      periodSeconds: 10`;
  return `apiVersion: v1
kind: Pod
metadata:
  annotations:
    kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: 10.0.0.1:6443
  labels: { component: kube-apiserver, tier: control-plane }
  name: kube-apiserver
  namespace: kube-system
spec:
  containers:
  - command:
    - kube-apiserver
${Object.entries(all)
  .filter(([, value]) => value !== undefined)
  .map(([name, value]) => `--${name}=${value}`)
  .map((word) => `    - ${word.endsWith(':') ? JSON.stringify(word) : word}\n`)
  .join('')}    image: registry.k8s.io/kube-apiserver:v1.36.0
    livenessProbe:${probe}
    name: kube-apiserver
    ports:
    - { containerPort: ${securePort}, name: probe-port, protocol: TCP }
    volumeMounts:
    - { mountPath: /etc/ssl/certs, name: ca-certs, readOnly: true }
    - { mountPath: /etc/kubernetes/pki, name: k8s-certs, readOnly: true }
  hostNetwork: true
  priorityClassName: system-node-critical
  volumes:
  - { hostPath: { path: /etc/ssl/certs, type: DirectoryOrCreate }, name: ca-certs }
  - { hostPath: { path: ${JSON.stringify(pki)}, type: DirectoryOrCreate }, name: k8s-certs }
status: {}
`;
}

/** A static pod in the form in which kubeadm writes those of the controller manager and the scheduler. */
export function componentManifest(name: string, version = '1.36.0'): string {
  return `apiVersion: v1
kind: Pod
metadata:
  labels:
    component: ${name}
    tier: control-plane
  name: ${name}
  namespace: kube-system
spec:
  containers:
  - command:
    - ${name}
    - --leader-elect=true
    image: registry.k8s.io/${name}:v${version}
    name: ${name}
  hostNetwork: true
  priorityClassName: system-node-critical
status: {}
`;
}

/** A kubeconfig in the form in which kubeadm writes those of the node's own components. */
export function componentKubeconfig(name: string, port: number, key = 'aHVudGVyMg=='): string {
  return `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: Y2E=
    server: https://127.0.0.1:${port}
  name: kubernetes
contexts:
- context:
    cluster: kubernetes
    user: system:${name}
  name: system:${name}@kubernetes
current-context: system:${name}@kubernetes
kind: Config
users:
- name: system:${name}
  user:
    client-certificate-data: Y2VydGlmaWNhdGU=
    client-key-data: ${key}
`;
}

/** /etc/kubernetes of a control-plane node, in a folder. @returns the path of kube-apiserver's static pod */
export async function writeKubeadmLayout(
  folder: string,
  certificates: DemoCertificates,
  options: Omit<KubeadmManifestOptions, 'pki'>,
): Promise<string> {
  const pki = join(folder, 'pki');
  const manifests = join(folder, 'manifests');
  await writeKubeadmPki(pki, certificates);
  await mkdir(manifests, { recursive: true });
  const manifest = join(manifests, 'kube-apiserver.yaml');
  await writeFile(manifest, kubeadmManifest({ ...options, pki }), { mode: 0o600 });
  return manifest;
}

/** The files that kube-apiserver of such a node is given. */
export async function writeKubeadmPki(pki: string, certificates: DemoCertificates): Promise<void> {
  await mkdir(pki, { recursive: true });
  const { clusterCa, frontProxyCa, apiServer, frontProxyClient } = certificates;
  const files = {
    'ca.crt': clusterCa,
    'front-proxy-ca.crt': frontProxyCa,
    'apiserver.crt': apiServer.certificate,
    'apiserver.key': apiServer.privateKey,
    'front-proxy-client.crt': frontProxyClient.certificate,
    'front-proxy-client.key': frontProxyClient.privateKey,
  };
  for (const [name, source] of Object.entries(files)) await cp(source, join(pki, name));
}
