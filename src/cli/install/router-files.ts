import { posix } from 'node:path';
import { parseKubeApiServerManifest } from '../serve/kube-apiserver-manifest.ts';

export const routerPaths = {
  kubeconfig: '/etc/mixed-version-proxy/reader.kubeconfig',
  configuration: '/etc/mixed-version-proxy/config.yaml',
  manifest: '/etc/kubernetes/manifests/mixed-version-proxy.yaml',
  flagPatch: '/etc/kubernetes/patches/kube-apiserver-mixed-version-proxy+json.yaml',
  probePatch: '/etc/kubernetes/patches/kube-apiserver-mixed-version-proxy+strategic.yaml',
  journal: '/var/lib/mixed-version-proxy-install/journal.json',
} as const;

/** Appended by kubeadm after its own flag: of two the last one counts. */
export function flagPatch(port: number): string {
  return `# For kubeadm (--patches): kube-apiserver listens on ${port}, for the router has the port that clients know.
- op: add
  path: /spec/containers/0/command/-
  value: --secure-port=${port}
`;
}

/**
 * The port is named as kubeadm names it since it declares one (cmd/kubeadm/app/phases/controlplane/manifests.go). Declared
 * on the host's network it is the host's port, and the kubelet does not admit two pods with one: kube-apiserver must not
 * keep the router's (pkg/kubelet/lifecycle/predicate.go, NodePorts).
 */
export function probePatch(port: number): string {
  return `# For kubeadm (--patches): kube-apiserver declares the port that it listens on, and its probes ask there. Left to declare
# the router's, the kubelet would not admit it: two pods may not have one port of the host.
spec:
  containers:
    - name: kube-apiserver
      ports:
        - $patch: replace
        - { name: probe-port, containerPort: ${port}, protocol: TCP }
      startupProbe:
        httpGet: { port: probe-port }
      livenessProbe:
        httpGet: { port: probe-port }
      readinessProbe:
        httpGet: { port: probe-port }
`;
}

/** All else is found on the node. */
export function routerConfiguration(port: number): string {
  return `# Written by mixed-version-proxy install kubeadm. The local server, its ID, certificates and authorities are found on the
# node: mixed-version-proxy serve --config ${routerPaths.configuration} --dry-run shows them.
apiVersion: mixed-version-proxy/v1alpha1
kind: RouterConfiguration
serving:
  port: ${port}
apiServers:
  kubeconfig: ${routerPaths.kubeconfig}
snapshot:
  file: /var/lib/mixed-version-proxy/snapshot
shutdown:
  # Longer than a load balancer takes to notice a failing /readyz.
  delay: 15s
logging:
  format: json
`;
}

const usedFlags = [
  'client-ca-file',
  'proxy-client-cert-file',
  'proxy-client-key-file',
  'requestheader-client-ca-file',
  'tls-cert-file',
  'tls-private-key-file',
  'peer-ca-file',
];

/**
 * Where the files are on the node that a router may find by the flags of kube-apiserver, whether they are there or not:
 * never the keys of authorities and of service accounts, which lie beside them. Pure.
 * @throws {TypeError} what is wrong with the manifest
 */
export function usedFiles(manifest: string): readonly string[] {
  const { flags, valuesOf, hostPath } = parseKubeApiServerManifest(manifest);
  const pairs = valuesOf('tls-sni-cert-key').flatMap((value) => value.replace(/:.*/s, '').split(','));
  const serving = flags.get('tls-cert-file');
  // The authority in which `--peer-ca-file` is found where kube-apiserver has none.
  const authority = serving === undefined ? [] : [posix.join(posix.dirname(serving), 'ca.crt')];
  const named = [...usedFlags.flatMap((name) => flags.get(name) ?? []), ...pairs, ...authority];
  return [...new Set(named.flatMap((path) => hostPath(path) ?? []))].sort();
}

/** Names of volumes: what a path ends with, and its number, as labels of DNS (RFC 1123). */
function volumesOf(files: readonly string[]): readonly { readonly name: string; readonly path: string }[] {
  return files.map((path, index) => {
    const name = posix
      .basename(path)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .slice(0, 40);
    return { name: `file-${index}-${name.replace(/-$/, '')}`, path };
  });
}

/**
 * The static pod of deploy/static-pod, on this port.
 * @param files of the node that it may read. Each is mounted by itself: kubeadm renews them in place
 *   (client-go util/cert/io.go: WriteCert), so a mount goes on showing what they hold
 */
export function routerManifest(image: string, port: number, files: readonly string[]): string {
  const volumes = volumesOf(files);
  const mounts = volumes.map(
    ({ name, path }) => `        - { name: ${name}, mountPath: ${JSON.stringify(path)}, readOnly: true }\n`,
  );
  const sources = volumes.map(
    ({ name, path }) =>
      `    - name: ${name}\n      hostPath: { path: ${JSON.stringify(path)}, type: File }\n`,
  );
  const probe = (path: string) => `httpGet: { host: 127.0.0.1, path: ${path}, port: ${port}, scheme: HTTPS }`;
  return `# Written by mixed-version-proxy install kubeadm, which takes it back with --undo.
apiVersion: v1
kind: Pod
metadata:
  name: mixed-version-proxy
  namespace: kube-system
  labels:
    app.kubernetes.io/name: mixed-version-proxy
    tier: control-plane
spec:
  hostNetwork: true
  priorityClassName: system-node-critical
  # 60 s for requests, 15 s of delay, and some to spare.
  terminationGracePeriodSeconds: 90
  securityContext:
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: router
      image: ${JSON.stringify(image)}
      # As kubeadm's own static pods: a restart needs no registry, whatever the tag.
      imagePullPolicy: IfNotPresent
      args:
        - serve
        - --config=/etc/mixed-version-proxy/config.yaml
      ports:
        - { name: https, containerPort: ${port}, hostPort: ${port}, protocol: TCP }
      startupProbe:
        ${probe('/livez')}
        periodSeconds: 2
        failureThreshold: 30
      # The process alone: an API server that is down does not restart the router, nor does a limit that is reached, for
      # connections and requests are kept back for probes. A stuck one still takes connections: the kernel does.
      livenessProbe:
        ${probe('/livez')}
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        ${probe('/readyz')}
        periodSeconds: 5
        timeoutSeconds: 5
      resources:
        requests: { cpu: 250m, memory: 256Mi }
        # No CPU limit: throttling would slow down every request.
        limits: { memory: 1Gi }
      securityContext:
        # kubeadm writes its keys for root alone. Without a capability root here is only their owner.
        runAsUser: 0
        runAsGroup: 0
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      volumeMounts:
        - { name: config, mountPath: /etc/mixed-version-proxy, readOnly: true }
${mounts.join('')}        # The flags of kube-apiserver, which the router finds its own settings in. The folder, for kubeadm replaces the file.
        - { name: manifests, mountPath: /etc/kubernetes/manifests, readOnly: true }
        - { name: state, mountPath: /var/lib/mixed-version-proxy }
  volumes:
    - name: config
      hostPath: { path: /etc/mixed-version-proxy, type: Directory }
${sources.join('')}    - name: manifests
      hostPath: { path: /etc/kubernetes/manifests, type: Directory }
    - name: state
      hostPath: { path: /var/lib/mixed-version-proxy, type: DirectoryOrCreate }
`;
}
