import type { FlagChanges } from '../support/routers/serve-options.ts';

/** Flags beside those of a form, or another call; `undefined` leaves one out. */
export type Changes = Readonly<Record<string, readonly string[] | undefined>>;

const frontProxyPair = ['proxy-client-cert-file', 'proxy-client-key-file'] as const;
const callers = ['client-ca-file', 'requestheader-client-ca-file', 'requestheader-allowed-names'] as const;

function without(...flags: readonly (keyof FlagChanges)[]): FlagChanges {
  return Object.fromEntries(flags.map((flag) => [flag, undefined]));
}

/** One row for each value. */
function each(flag: keyof FlagChanges, ...values: readonly string[]): readonly FlagChanges[] {
  return values.map((value) => ({ [flag]: [value] }));
}

/** Files that are there and hold something else, and pairs that do not fit. */
const pairs: readonly FlagChanges[] = [
  ...each('tls-cert-file', 'missing.crt', 'broken.crt'),
  ...each('tls-private-key-file', 'missing.key', 'secret.key', 'serving.crt', 'front-proxy-client.key'),
  ...each('proxy-client-cert-file', 'missing.crt', 'broken.crt'),
  ...each('proxy-client-key-file', 'missing.key', 'secret.key', 'serving.key'),
  ...each('peer-ca-file', 'broken.crt'),
  ...each('client-ca-file', 'missing.crt', 'empty.crt', ''),
  // Ordinary clients would be front proxies.
  ...each('requestheader-client-ca-file', 'empty.crt', '', 'ca.crt', 'both-cas.crt'),
  ...each('snapshot-keys', 'empty.crt', 'private-keys.json', 'secret.key'),
  ...each('assertion-keys', 'missing.json', 'snapshot-keys.json', 'private.json', 'secret.key'),
];

/** Changes to several flags of `serve` that are told together, or to values that only one flag could have, by form. */
export const serveCombinations: Readonly<Record<'sidecar' | 'gateway' | 'gateOff', readonly FlagChanges[]>> =
  {
    sidecar: [
      without('server-id', 'local-server'),
      without(...frontProxyPair),
      { ...without(...frontProxyPair), 'assertion-keys': ['routers.json'] },
      without(...callers),
      without('requestheader-allowed-names'),
      without('requestheader-client-ca-file'),
      ...each('requestheader-allowed-names', '', 'one,,two'),
      ...each('requestheader-username-headers', 'X-Remote-User,', 'X-User'),
      ...each('requestheader-uid-headers', 'X-Remote-Uid,', 'X-Uid'),
      ...each('requestheader-group-headers', '', 'x-remote-group,X-Group', 'X-Remote-Group,X Group'),
      ...each('requestheader-extra-headers-prefix', 'X-Remote-Extra-,', 'X-Extra-'),
      ...pairs,
      ...each('peer-advertise-ip', '10.0.0.1'),
      ...each('peer-advertise-port', '6443'),
      { 'peer-advertise-ip': ['10.0.0.1'], 'peer-advertise-port': ['0'] },
      ...['0.0.0.0', '::', '224.0.0.1', '169.254.1.1'].map((useless) => ({
        'peer-advertise-ip': [useless],
        'peer-advertise-port': ['6443'],
      })),
      ...each('advertise-address', '10.0.0.1', 'example.com'),
      ...each('secure-port', '65536', '0x10', '6443.5'),
      ...each('local-server', 'http://127.0.0.1:6444', '127.0.0.1:6444', 'https://127.0.0.1:6444/api'),
      ...each('local-server', 'https://127.0.0.1:6444?x=y', 'https://user@127.0.0.1:6444'),
      ...each('local-server', 'https://127.0.0.1:99999', 'https://127.0.0.1\\evil'),
      ...each('allowed-peer-cidrs', '10.0.0.0/40'),
      ...each('admin-bind-address', '9443', ':9443', 'localhost:9443', '127.0.0.1', '::1:9443'),
      ...each('admin-bind-address', '127.0.0.1:70000', '127.0.0.2:9443', '10.0.0.7:9443'),
      ...each('tls-min-version', 'VersionTLS11'),
      ...each('tls-sni-cert-key', 'serving.crt', 'serving.crt,serving.key:', 'a,b,c', ',serving.key:foo.com'),
      ...each('tls-sni-cert-key', 'serving.crt,front-proxy-client.key'),
      ...each('tls-sni-cert-key', 'serving.crt,serving.key:10.0.0.1,::1'),
      {
        'request-timeout': ['0s'],
        'max-requests-inflight': ['-1'],
        'max-mutating-requests-inflight': ['1e3'],
        'max-long-running-requests': [''],
        'goaway-chance': ['0.5'],
        'shutdown-delay-duration': ['90'],
        'shutdown-watch-termination-grace-period': ['2h'],
      },
      ...each('request-timeout', '60'),
      ...each('health-check-interval', '1ms'),
      ...each('feature-gates', 'Nonsense=true', 'UnknownVersionInteroperabilityProxy'),
      ...each('feature-gates', 'UnknownVersionInteroperabilityProxy=maybe'),
    ],
    gateway: [
      {
        'server-id': ['cp-a'],
        'local-server': ['https://127.0.0.1:6444'],
        'local-server-name': ['kubernetes'],
        'local-server-ca-file': ['ca.crt'],
        'assertion-keys': ['snapshot-keys.json'],
      },
      {
        'feature-gates': ['UnknownVersionInteroperabilityProxy=false'],
        'peer-ca-file': undefined,
      },
      without('proxy-client-key-file'),
      without(...frontProxyPair, 'requestheader-client-ca-file', 'requestheader-allowed-names'),
      without(...frontProxyPair),
      ...each('advertise-address', '10.0.0.1'),
    ],
    gateOff: [
      {
        'peer-ca-file': ['ca.crt'],
        'peer-advertise-ip': ['10.0.0.1'],
        'peer-advertise-port': ['6443'],
        'health-check-interval': ['1s'],
      },
      without('local-server-ca-file'),
      without(...frontProxyPair),
      // Without the pair none of these authenticates anybody.
      ...(['client-ca-file', 'requestheader-client-ca-file', 'assertion-keys'] as const).map((name) => ({
        ...without(...frontProxyPair, ...callers),
        [name]: ['missing'],
      })),
    ],
  };

const noClient = { 'client-cert-file': undefined, 'client-key-file': undefined };
const noServer = { server: undefined, 'peer-ca-file': undefined, ...noClient };
/** A job that finds its servers itself. */
const inCluster = { ...noServer, target: undefined, 'in-cluster': ['true'] };

/** The same of `sync`, beside the flags of a job that pushes. */
export const syncCombinations: readonly Changes[] = [
  {
    server: ['cp-a', 'cp-b=http://10.0.0.2', 'cp-c=https://10.0.0.3'],
    'peer-ca-file': undefined,
    'client-cert-file': ['missing.crt'],
    target: ['10.0.0.1'],
    'departed-server-grace': ['a while'],
    unsigned: ['true'],
  },
  { server: ['cp-c=https://10.0.0.3', 'cp-c=https://10.0.0.4'] },
  { server: undefined },
  { target: undefined },
  { 'signing-key': undefined },
  { 'signing-key': undefined, out: ['copy'] },
  noClient,
  { 'client-key-file': undefined },
  { once: ['true'], 'health-port': ['80'] },
  { from: ['recorded'] },
  { cluster: [''], out: [''], kubeconfig: [''], 'target-server-name': [''] },
  { 'signing-key': ['snapshot-keys.json'] },
  { 'signing-key': ['noise'] },
  noServer,
  { ...noServer, context: ['blue'] },
  { ...noServer, kubeconfig: ['a'], 'in-cluster': ['true'] },
  // A service account has a token; routers want a certificate, or one of their own tokens.
  { ...noServer, 'in-cluster': ['true'] },
  { ...inCluster, 'in-cluster': undefined, kubeconfig: ['a'], from: ['folder'], out: ['x'] },
  { ...inCluster, 'in-cluster': undefined, kubeconfig: ['a'], record: ['folder'] },
  { ...inCluster, 'worker-target': ['https://w.example.com'] },
  { ...inCluster, 'worker-target': ['https://w.example.com'], 'target-token-file': ['noise'] },
  { ...inCluster, 'worker-target': ['https://w.example.com'], 'target-token-file': ['blank'] },
  { 'bind-address': ['localhost'], 'health-port': ['70000'] },
];
