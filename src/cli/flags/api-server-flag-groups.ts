import type { FlagDefinition, FlagGroup } from './flag.ts';
import { boolean, duration, featureGates, file, list, text } from './flag-types.ts';
import { clusterReadingFlags } from './shared-flag-groups.ts';

/** Which API server is local, and how it and its peers are reached and known. */
export const mixedVersionFlagGroup = {
  heading: 'Mixed version proxy flags:',
  flags: [
    {
      name: 'feature-gates',
      key: 'featureGates',
      value: featureGates,
      default: 'UnknownVersionInteroperabilityProxy=true',
      description: 'With the gate off, every request goes to the local API server.',
    },
    {
      name: 'server-id',
      key: 'localServer.id',
      value: text('ID'),
      isOfLocalServer: true,
      description:
        'ID of the local API server: the name of its identity Lease in kube-system, as the snapshot has it. Required, unless --gateway is set or --kubeconfig finds it.',
    },
    {
      name: 'local-server',
      key: 'localServer.url',
      value: text('https://host:port'),
      isOfLocalServer: true,
      description:
        'Where the local API server listens. Required, unless --gateway is set or --kubeconfig finds it.',
    },
    {
      name: 'kube-apiserver-manifest',
      key: 'localServer.manifestFile',
      value: text('file|none'),
      default: '/etc/kubernetes/manifests/kube-apiserver.yaml',
      description:
        'Static pod of the local API server. With --kubeconfig, flags that are not given are found there: --local-server, certificates, keys and CA bundles. none: find nothing.',
    },
    {
      name: 'local-server-name',
      key: 'localServer.serverName',
      value: text('name'),
      default: 'kubernetes.default.svc',
      isOfLocalServer: true,
      description: "Name that the local API server's serving certificate must carry.",
    },
    {
      name: 'local-server-ca-file',
      key: 'localServer.caFile',
      value: file,
      isOfLocalServer: true,
      description:
        "CA bundle for the local API server's serving certificate. Defaults to --peer-ca-file; required with the gate off.",
    },
    {
      name: 'peer-ca-file',
      key: 'peers.caFile',
      value: file,
      needsFeatureGate: true,
      description:
        "CA bundle that peers' serving certificates are checked against. Required with the gate on.",
    },
    {
      name: 'proxy-client-cert-file',
      key: 'frontProxy.certFile',
      value: file,
      description:
        'Front-proxy client certificate, which proves this router to API servers and peers. A gateway may do without: tokens pass through then, and certificates of callers are refused.',
    },
    {
      name: 'proxy-client-key-file',
      key: 'frontProxy.keyFile',
      value: file,
      description: 'Private key for --proxy-client-cert-file.',
    },
    {
      name: 'allowed-peer-cidrs',
      key: 'peers.allowedCIDRs',
      value: list('CIDR'),
      description:
        'Accept peers only at addresses in these blocks. Default: any but loopback, link-local and metadata addresses.',
    },
    {
      name: 'allow-loopback-peers',
      key: 'peers.allowLoopback',
      value: boolean,
      default: 'false',
      description: 'Accept peers at loopback addresses. For demos and tests on one machine.',
    },
  ],
} as const satisfies FlagGroup;

const ofClusterReading = {
  needs: [{ oneOf: ['kubeconfig', 'in-cluster'], because: 'it says how the router reads the cluster' }],
} as const satisfies Partial<FlagDefinition>;

/** The sync job inside the router: with one of the first two there is one. */
export const embeddedSyncFlagGroup = {
  heading: 'Cluster flags (the router reads the cluster itself; nothing is pushed to it):',
  flags: [
    { ...clusterReadingFlags.kubeconfig, needsFeatureGate: true },
    { ...clusterReadingFlags.inCluster, needsFeatureGate: true },
    clusterReadingFlags.context,
    { ...clusterReadingFlags.server, ...ofClusterReading },
    { ...clusterReadingFlags.departedServerGrace, ...ofClusterReading },
    { ...clusterReadingFlags.cluster, ...ofClusterReading },
  ],
} as const satisfies FlagGroup;

/** Where snapshots come from, and what happens without a current one. */
export const snapshotFlagGroup = {
  heading: 'Snapshot flags:',
  flags: [
    {
      name: 'snapshot-file',
      key: 'snapshot.file',
      value: file,
      description: 'Where the last good snapshot is kept across restarts, and read from at start.',
    },
    {
      name: 'snapshot-keys',
      key: 'snapshot.keysFile',
      value: file,
      description:
        'Public keys (JWK Set) that pushed snapshots must be signed with. Required with the gate on, unless --kubeconfig or --in-cluster is set.',
    },
  ],
} as const satisfies FlagGroup;

/** In front of one API server, or in front of all. */
export const deploymentFormFlagGroup = {
  heading: 'Deployment form flags:',
  flags: [
    {
      name: 'gateway',
      key: 'gateway',
      value: boolean,
      default: 'false',
      needsFeatureGate: true,
      description:
        'Stand in front of all API servers of the snapshot alike, instead of one of them: without --server-id and --local-server.',
    },
  ],
} as const satisfies FlagGroup;

/** How API servers are health-checked, and what their health changes. */
export const healthFlagGroup = {
  heading: 'Server health flags:',
  flags: [
    {
      name: 'health-check-interval',
      key: 'health.checkInterval',
      value: duration('0s', '1h'),
      default: '5s',
      needsFeatureGate: true,
      description:
        'How often /readyz of each API server is requested; five times as often while its health is bad or uncertain. 0s: never, only requests show its health.',
    },
  ],
} as const satisfies FlagGroup;
