import type * as v from 'valibot';
import { addressPolicySettings, clusterReading, configSetting, loggingSettings } from './cluster-settings.ts';
import type { FlagOf } from './setting.ts';
import {
  addressAndPort,
  boolean,
  choice,
  duration,
  featureGates,
  file,
  headerNames,
  httpsOrigin,
  ipAddress,
  listOrNone,
  namedCertificatePairs,
  number,
  preferredVersion,
  section,
  setting,
  text,
  wholeNumber,
} from './setting-types.ts';

export const preferredVersionSettings = section('Preferred version flags:', {
  preferredVersion: setting('preferred-version', preferredVersion, {
    default: 'majority',
    description:
      'Which version answers for resources whose fields differ between versions: majority (that of most servers, the newer when equal), newest, oldest, a minor version such as 1.36, or local (that of the local server). Give all routers the same.',
  }),
});

/** Shorter ones would be a load of their own for the servers. */
const healthCheckInterval = duration(
  '0s',
  '1h',
  'a duration from 100ms to 1h, such as 10s, or 0s for never',
  (milliseconds) => milliseconds === 0 || milliseconds >= 100,
);

const reading = clusterReading(false);
const gate = { needsFeatureGate: true } as const;
const credential = { isCredential: true } as const;
const ofLocalServer = { isOfLocalServer: true } as const;
const ofFrontProxies = { needs: [{ oneOf: ['requestheader-client-ca-file'] }] };

/**
 * The settings of the router: this is all that a RouterConfiguration may hold, and every flag of `serve`. Names are
 * kube-apiserver's wherever the meaning is the same (k8s.io/apiserver pkg/server/options,
 * pkg/controlplane/apiserver/options).
 */
export const routerSettings = section('Router flags:', {
  apiServers: section(
    'Cluster flags (the router reads the cluster itself; nothing is pushed to it):',
    reading.apiServers,
  ),
  snapshot: section('Snapshot flags:', {
    file: setting('snapshot-file', file, {
      isCommon: true,
      description: 'Where the last good snapshot is kept across restarts, and read from at start.',
    }),
    keysFile: setting('snapshot-keys', file, {
      ...credential,
      description:
        'Public keys (JWK Set) that pushed snapshots must be signed with. Required with the gate on, unless --kubeconfig or --in-cluster is set.',
    }),
    ...reading.snapshot,
  }),
  localServer: section('Local API server flags:', {
    id: setting('server-id', text('ID'), {
      ...ofLocalServer,
      isCommon: true,
      description:
        'ID of the local API server: the name of its identity Lease in kube-system, as the snapshot has it. Required, unless --gateway is set or --kubeconfig finds it.',
    }),
    url: setting('local-server', httpsOrigin(), {
      ...ofLocalServer,
      isCommon: true,
      description:
        'Where the local API server listens. Required, unless --gateway is set or --kubeconfig finds it.',
    }),
    manifestFile: setting('kube-apiserver-manifest', text('file|none'), {
      default: '/etc/kubernetes/manifests/kube-apiserver.yaml',
      description:
        'Static pod of the local API server. With --kubeconfig, flags that are not given are found there: --local-server, certificates, keys and CA bundles. none: find nothing.',
    }),
    serverName: setting('local-server-name', text('name'), {
      ...ofLocalServer,
      default: 'kubernetes.default.svc',
      description: "Name that the local API server's serving certificate must carry.",
    }),
    caFile: setting('local-server-ca-file', file, {
      ...ofLocalServer,
      ...credential,
      description:
        "CA bundle for the local API server's serving certificate. Defaults to --peer-ca-file; required with the gate off.",
    }),
  }),
  gateway: setting('gateway', boolean, {
    ...gate,
    isCommon: true,
    default: false,
    description:
      'Stand in front of all API servers of the snapshot alike, instead of one of them: without --server-id and --local-server.',
  }),
  peers: section('Peer flags:', {
    caFile: setting('peer-ca-file', file, {
      ...gate,
      ...credential,
      isCommon: true,
      description:
        "CA bundle that peers' serving certificates are checked against. Required with the gate on.",
    }),
    ...addressPolicySettings,
  }),
  frontProxy: section('Front-proxy flags:', {
    certFile: setting('proxy-client-cert-file', file, {
      ...credential,
      isCommon: true,
      description:
        'Front-proxy client certificate, which proves this router to API servers and peers. A gateway may do without: tokens pass through then, and certificates of callers are refused.',
    }),
    keyFile: setting('proxy-client-key-file', file, {
      ...credential,
      isCommon: true,
      description: 'Private key for --proxy-client-cert-file.',
    }),
  }),
  authentication: section('Authentication flags:', {
    clientCAFile: setting('client-ca-file', file, {
      ...credential,
      isCommon: true,
      authenticates: true,
      description: 'Clients with a certificate of this CA bundle are known by its CN (user) and O (groups).',
    }),
    requestHeader: section('Authentication flags:', {
      clientCAFile: setting('requestheader-client-ca-file', file, {
        ...credential,
        isCommon: true,
        authenticates: true,
        description: 'CA bundle of front proxies and peers, whose X-Remote headers are believed.',
      }),
      allowedNames: setting('requestheader-allowed-names', listOrNone('CN'), {
        ...ofFrontProxies,
        isCommon: true,
        mayBeBlank: true,
        description:
          'Common names of front proxies. Blank allows any. Required with --requestheader-client-ca-file.',
      }),
      usernameHeaders: setting('requestheader-username-headers', headerNames('header'), {
        default: ['X-Remote-User'],
        description: 'Headers to look for the user name in.',
      }),
      uidHeaders: setting('requestheader-uid-headers', headerNames('header'), {
        default: ['X-Remote-Uid'],
        description: 'Headers to look for the UID in.',
      }),
      groupHeaders: setting('requestheader-group-headers', headerNames('header'), {
        default: ['X-Remote-Group'],
        description: 'Headers to look for groups in.',
      }),
      extraHeaderPrefixes: setting('requestheader-extra-headers-prefix', headerNames('prefix'), {
        default: ['X-Remote-Extra-'],
        description: 'Prefixes of headers with extra user information.',
      }),
    }),
    assertionKeysFile: setting('assertion-keys', file, {
      ...credential,
      authenticates: true,
      description:
        'Public keys (JWK Set) of edge routers whose signed assertions are believed; each key names its router in "issuer". Default: no one\'s.',
    }),
  }),
  serving: section('Serving flags:', {
    bindAddress: setting('bind-address', ipAddress('IP'), {
      default: '0.0.0.0',
      description: 'Address to listen on. An unspecified address (0.0.0.0 or ::) is all interfaces.',
    }),
    port: setting('secure-port', wholeNumber(0, 65_535, 'port'), {
      isCommon: true,
      default: 6443,
      description: 'Port to serve HTTPS on. 0 takes any free port.',
    }),
    disableHttp2: setting('disable-http2-serving', boolean, {
      default: false,
      description:
        "Offer clients HTTP/1.1 only, as the same flag of kube-apiserver does. Use it to rule out a bug in the router's HTTP/2.",
    }),
    tlsMinVersion: setting('tls-min-version', choice('VersionTLS12', 'VersionTLS13'), {
      default: 'VersionTLS12',
      description: 'Lowest version of TLS that clients may use.',
    }),
    certFile: setting('tls-cert-file', file, {
      ...credential,
      isCommon: true,
      description: 'Serving certificate, followed by its intermediates. Required.',
    }),
    keyFile: setting('tls-private-key-file', file, {
      ...credential,
      isCommon: true,
      description: 'Private key for --tls-cert-file. Required.',
    }),
    sniCertKeys: setting('tls-sni-cert-key', namedCertificatePairs, {
      ...credential,
      description:
        'Another serving certificate and its key, for clients who ask for one of the names (SNI), by default those of the certificate. A name wins over a wildcard, a name given here over one of a certificate, an earlier pair over a later one. May be given several times.',
    }),
  }),
  advertise: section('Advertised address flags:', {
    address: setting('advertise-address', ipAddress('IP'), {
      description:
        "Address at which others reach this router. When it is given, peers call the router there, with --secure-port, instead of its API server. Default: --bind-address, or the host's default interface if that is unspecified; peers use a default only for a server without an address.",
    }),
    peerIP: setting('peer-advertise-ip', ipAddress('IP'), {
      ...gate,
      // kube-apiserver ignores one without the other without a word, and peers then call the wrong address.
      needs: [{ oneOf: ['peer-advertise-port'] }],
      description: 'Address that peers should call instead; goes with --peer-advertise-port.',
    }),
    peerPort: setting('peer-advertise-port', wholeNumber(1, 65_535, 'port'), {
      ...gate,
      needs: [{ oneOf: ['peer-advertise-ip'] }],
      description: 'Port that peers should call instead; goes with --peer-advertise-ip.',
    }),
  }),
  admin: section('Admin address flags:', {
    bindAddress: setting('admin-bind-address', addressAndPort, {
      description:
        'Loopback address at which /livez, /readyz, /healthz and /metrics are served as well, over plain HTTP and without authentication. Default: not served.',
    }),
  }),
  routing: preferredVersionSettings,
  health: section('Server health flags:', {
    checkInterval: setting('health-check-interval', healthCheckInterval, {
      ...gate,
      default: '5s',
      description:
        'How often /readyz of each API server is requested; five times as often while its health is bad or uncertain. 0s: never, only requests show its health.',
    }),
  }),
  timeouts: section('Time-out flags:', {
    request: setting('request-timeout', duration('1s', '24h'), {
      default: '60s',
      description:
        'How long a request may take as a whole: 503 with Retry-After (reads) or 504 (writes) before the response begins, broken off afterwards. Watches, logs, exec and the like have no such limit.',
    }),
  }),
  limits: section('Overload flags:', {
    requestsInFlight: setting('max-requests-inflight', wholeNumber(0, 1_000_000), {
      default: 4000,
      description: 'Reading requests in flight at a time; more get 429. 0: no limit.',
    }),
    mutatingRequestsInFlight: setting('max-mutating-requests-inflight', wholeNumber(0, 1_000_000), {
      default: 2000,
      description: 'Writing requests in flight at a time; more get 429. 0: no limit.',
    }),
    longRunningRequests: setting('max-long-running-requests', wholeNumber(0, 1_000_000), {
      default: 20_000,
      description: 'Watches, logs, exec and the like that are open at a time; more get 429. 0: no limit.',
    }),
    http2MaxStreamsPerConnection: setting('http2-max-streams-per-connection', wholeNumber(0, 100_000), {
      default: 0,
      description:
        'Requests and watches at a time on one HTTP/2 connection of a client; it waits with more. 0: 100, as in kube-apiserver.',
    }),
    goawayChance: setting('goaway-chance', number(0, 0.02), {
      default: 0,
      description:
        'Share of the HTTP/2 requests after which the client is told to connect anew, so that clients spread behind a load balancer. 0.001 is a good start; leave it at 0 without one.',
    }),
  }),
  featureGates: setting('feature-gates', featureGates, {
    default: { UnknownVersionInteroperabilityProxy: true },
    description: 'With the gate off, every request goes to the local API server.',
  }),
  // In the words of kube-apiserver's flags (k8s.io/apiserver pkg/server/genericapiserver.go).
  shutdown: section('Shutdown flags:', {
    delay: setting('shutdown-delay-duration', duration('0s', '1h'), {
      default: '0s',
      description:
        'How long the router serves on after the signal to end, while /readyz fails already, so that load balancers take it out first.',
    }),
    watchTerminationGracePeriod: setting('shutdown-watch-termination-grace-period', duration('0s', '1h'), {
      default: '10s',
      description:
        'How long watches, logs and tunnels live on in a shutdown. Watches end one after the other within it, between two events.',
    }),
  }),
  logging: loggingSettings('3 adds a line for each request, 4 what failed on its way', 10),
});

/** The values, with their defaults; durations in milliseconds. */
export type RouterSettings = v.InferOutput<typeof routerSettings>;

export type RouterFlag = FlagOf<typeof routerSettings>;

/** Flags of `serve` about its other flags. They have no key in a configuration file. */
export const serveCall = section('Flags that most calls need:', {
  config: configSetting('RouterConfiguration'),
  dryRun: setting('dry-run', boolean, {
    default: false,
    isCommon: true,
    description:
      'Check flags, configuration file, certificates and keys, and end: exit code 0 when the router could start with them, 2 with a line for every error.',
  }),
});

export const routerConfiguration = { kind: 'RouterConfiguration', settings: routerSettings };
