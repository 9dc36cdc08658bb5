import type { JWK } from 'jose';
import { isBearerToken } from '../../runtime/bearer-token.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/addresses.ts';
import { signingKeyOf } from '../../snapshot/signing/seal.ts';
import type { ListedServer, ReadingOptions, SyncOptions } from '../../sync/node/sync-options.ts';
import { readListedServers } from '../flags/shared-flag-groups.ts';
import type { SyncFlagValues } from '../flags/sync-flag-groups.ts';

/** A snapshot made offline, of a folder of recorded responses. */
export interface OfflineSync {
  readonly kind: 'offline';
  readonly folder: string;
  readonly file: { readonly file: string; readonly unsigned: boolean };
  readonly servers: readonly ListedServer[];
  readonly signingKey: JWK | undefined;
  readonly cluster: string | undefined;
}

/** A sync job that reads running servers. */
export interface LiveSync {
  readonly kind: 'live';
  readonly once: boolean;
  readonly options: SyncOptions;
  /** `undefined`: none. */
  readonly endpoints: EndpointOptions | undefined;
}

/** A recording of running servers. */
export interface RecordSync {
  readonly kind: 'record';
  readonly folder: string;
  readonly options: ReadingOptions;
}

export type SyncPlan = OfflineSync | LiveSync | RecordSync;

/** Turns the flags into what is to be done. To be done only where `flags` has no issues afterwards. */
export function planSync(flags: SyncFlagValues): SyncPlan {
  flags.check();
  if (flags.isGiven('out') && !flags.isUsed('unsigned') && !flags.isGiven('signing-key')) {
    flags.issue('out', '--out needs --signing-key, or --unsigned for a file to look at');
  }
  // Left out, a snapshot of recorded responses does not run out, unlike one that is delivered.
  const common: CommonOptions = {
    servers: readListedServers(flags, flags.list('server', { mayBeBlank: true })),
    signingKey: readSigningKey(flags),
    cluster: flags.text('cluster'),
  };
  if (flags.isGiven('from')) return planOffline(flags, common);
  const clientCertificate = readClientCertificate(flags);
  if (flags.isGiven('record')) return planRecording(flags, common.servers, clientCertificate);
  return planLive(flags, common, clientCertificate);
}

type CommonOptions = Pick<OfflineSync, 'servers' | 'signingKey' | 'cluster'>;

function planOffline(flags: SyncFlagValues, common: CommonOptions): OfflineSync {
  return {
    kind: 'offline',
    folder: flags.text('from') ?? '',
    file: { file: flags.text('out') ?? '', unsigned: flags.value('unsigned') === true },
    ...common,
  };
}

const serverIsRequired = '--server is required, for example --server cp-a=https://10.0.0.1:6443';

function planRecording(
  flags: SyncFlagValues,
  servers: SyncOptions['servers'],
  clientCertificate: SyncOptions['clientCertificate'],
): RecordSync {
  if (!flags.isGiven('server')) flags.issue('server', serverIsRequired);
  const { certificateAuthorities = '', authoritiesFrom } = readPeerAuthorities(flags);
  return {
    kind: 'record',
    folder: flags.text('record') ?? '',
    options: { servers, certificateAuthorities, authoritiesFrom, clientCertificate },
  };
}

function planLive(
  flags: SyncFlagValues,
  common: CommonOptions,
  clientCertificate: SyncOptions['clientCertificate'],
): LiveSync {
  const kubernetes = readClusterAccess(flags);
  if (!flags.isGiven('server') && kubernetes === undefined) {
    flags.issue('server', `${serverIsRequired}; or --kubeconfig or --in-cluster, to find the servers`);
  }
  const usesOwnAuthorities = kubernetes !== undefined && !flags.isGiven('peer-ca-file');
  const once = flags.value('once') === true;
  if (!flags.isGiven('out') && !targetFlags.some((name) => flags.isGiven(name))) {
    flags.issue('target', '--target or --out is required: where snapshots go');
  }
  const file = flags.text('out');
  return {
    kind: 'live',
    once,
    endpoints: once ? undefined : readEndpointFlags(flags),
    options: {
      ...common,
      kubernetes,
      ...(usesOwnAuthorities ? {} : readPeerAuthorities(flags)),
      clientCertificate,
      ...readSyncTargets(flags),
      files: file === undefined ? [] : [{ file, unsigned: flags.value('unsigned') === true }],
      stateFile: flags.text('state-file'),
      departedServerGraceMilliseconds: flags.value('departed-server-grace'),
    },
  };
}

function readPeerAuthorities(
  flags: SyncFlagValues,
): Pick<SyncOptions, 'certificateAuthorities' | 'authoritiesFrom'> {
  const file = flags.requiredFile('peer-ca-file');
  return { certificateAuthorities: file?.text, authoritiesFrom: file && `--peer-ca-file (${file.path})` };
}

function readClientCertificate(flags: SyncFlagValues): SyncOptions['clientCertificate'] {
  const isGiven = flags.isGiven('client-cert-file') || flags.isGiven('client-key-file');
  if (isGiven) {
    const certificate = flags.requiredFile('client-cert-file')?.text;
    const key = flags.requiredFile('client-key-file')?.text;
    return certificate === undefined || key === undefined ? undefined : { certificate, key };
  }
  // A kubeconfig may bring a certificate; whether it does is seen when it is loaded.
  if (flags.isGiven('target') && !flags.isGiven('target-token-file') && !flags.isGiven('kubeconfig')) {
    flags.issue(
      'target',
      '--target needs --client-cert-file and --client-key-file, or --target-token-file: routers take nothing from strangers',
    );
  }
  return undefined;
}

function readSigningKey(flags: SyncFlagValues): JWK | undefined {
  const file = flags.file('signing-key');
  if (file === undefined) return undefined;
  try {
    const jwk = JSON.parse(file.text) as JWK;
    signingKeyOf(jwk);
    return jwk;
  } catch (error) {
    // The JSON parser's message would quote the file, which is secret.
    const reason = error instanceof SyntaxError ? 'it is not JSON' : errorMessage(error);
    return flags.issue('signing-key', `--signing-key: ${file.path} cannot be used: ${reason}`);
  }
}

/** @returns `undefined` when servers are listed by hand alone */
function readClusterAccess(flags: SyncFlagValues): SyncOptions['kubernetes'] {
  const inCluster = flags.value('in-cluster') === true;
  if (!flags.isGiven('kubeconfig')) return inCluster ? { inCluster } : undefined;
  if (inCluster) {
    flags.issue('in-cluster', '--kubeconfig and --in-cluster name two clusters: keep one');
  }
  const kubeconfig = flags.text('kubeconfig');
  return kubeconfig === undefined ? undefined : { kubeconfig, context: flags.text('context') };
}

/** Where the process's endpoints are to be. */
interface EndpointOptions {
  readonly address: string;
  readonly port: number;
}

/** @returns `undefined` when they are turned off */
export function readEndpointFlags(flags: SyncFlagValues): EndpointOptions | undefined {
  const port = flags.value('health-port');
  const address = flags.value('bind-address');
  return port === 0 || port === undefined || address === undefined ? undefined : { address, port };
}

type Targets = Pick<SyncOptions, 'routers' | 'routerCertificateAuthorities' | 'routerBearerToken'>;

/** Each of them names somewhere to push to. */
const targetFlags = ['target', 'worker-target'] as const;

/** Reads where snapshots are pushed to. */
export function readSyncTargets(flags: SyncFlagValues): Targets {
  const targets = flags.list('target', { mayBeBlank: true });
  const workers = flags.list('worker-target', { mayBeBlank: true });
  if (workers.length > 0 && !flags.isGiven('target-token-file')) {
    flags.issue(
      'worker-target',
      '--worker-target needs --target-token-file: a Worker sees no client certificate of yours',
    );
  }
  checkOrigins(flags, 'target', targets);
  checkOrigins(flags, 'worker-target', workers);
  const serverName = flags.text('target-server-name');
  return {
    routerCertificateAuthorities: flags.file('target-ca-file')?.text,
    routerBearerToken: readTargetToken(flags),
    routers: [
      ...targets.map((url) => ({ url, serverName })),
      ...workers.map((url) => ({ url, publicAuthorities: true })),
    ],
  };
}

function checkOrigins(
  flags: SyncFlagValues,
  name: 'target' | 'worker-target',
  entries: readonly string[],
): void {
  for (const entry of entries) {
    const parsed = parseHttpsOrigin(entry);
    if (!parsed.ok) flags.issue(name, `--${name} "${entry}" ${parsed.message}`);
  }
}

/** Read at start, so that a wrong path is an error then, and again for each request, since tokens are rotated. */
function readTargetToken(flags: SyncFlagValues): (() => string) | undefined {
  const name = 'target-token-file';
  const file = flags.file(name);
  if (file === undefined) return undefined;
  const { path, text } = file;
  const wrong = `--${name}: ${path} must hold one token and nothing else`;
  if (!isBearerToken(text.trim())) flags.issue(name, wrong);
  return () => {
    const token = flags.readFile(path).trim();
    if (!isBearerToken(token)) throw new TypeError(wrong);
    return token;
  };
}
