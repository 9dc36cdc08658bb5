import type { JWK } from 'jose';
import { errorMessage } from '../../runtime/error-message.ts';
import { signingKeyOf } from '../../snapshot/signing/signing-key.ts';
import type {
  ReadingOptions,
  RunSyncLeaderElection,
  RunSyncOptions,
  RunSyncServer,
} from '../../sync/node/run-sync-options.ts';
import { readListedServers } from '../flags/shared-flag-groups.ts';
import { type GivenSyncFlags, syncFlagValue } from '../flags/sync-flag-groups.ts';
import type { CommandContext } from '../terminal/command-context.ts';
import { readFlagFile, readRequiredFlagFile } from '../terminal/flag-files.ts';
import { givenTargetFlags, readSyncTargets } from './sync-target-flags.ts';

/** The flags of `sync`, read as far as each stands for itself. */
export interface SyncFlags extends GivenSyncFlags {
  readonly v: number;
  readonly loggingFormat: 'text' | 'json';
}

/** A snapshot made offline, of a folder of recorded responses. */
export interface OfflineSync {
  readonly kind: 'offline';
  readonly folder: string;
  readonly file: { readonly file: string; readonly unsigned: boolean };
  readonly servers: readonly RunSyncServer[];
  readonly signingKey: JWK | undefined;
  readonly cluster: string | undefined;
  readonly lifetimeSeconds: number | undefined;
  readonly comparesSchemas: boolean | undefined;
}

/** A sync job that reads running servers. */
export interface LiveSync {
  readonly kind: 'live';
  readonly once: boolean;
  readonly options: RunSyncOptions;
  /** `undefined`: none. */
  readonly endpoints: EndpointFlags | undefined;
}

/** A recording of running servers. */
export interface RecordSync {
  readonly kind: 'record';
  readonly folder: string;
  readonly options: ReadingOptions;
}

export type SyncPlan = OfflineSync | LiveSync | RecordSync;

/** Turns the flags into what is to be done; every error is named, or the plan is whole. */
export function planSync(
  flags: SyncFlags,
  context: CommandContext,
): { readonly plan: SyncPlan } | { readonly issues: readonly string[] } {
  const issues: string[] = [];
  const servers = readListedServers(flags.server ?? [], issues);
  const signingKey = readSigningKey(flags, context, issues);
  // Left out, a snapshot of recorded responses does not run out, unlike one that is delivered.
  const lifetime =
    flags.lifetime === undefined ? undefined : syncFlagValue('lifetime', flags.lifetime, issues);
  const lifetimeSeconds = lifetime && Math.floor(lifetime / 1000);
  if (flags.unsigned === true && flags.out === undefined) issues.push('--unsigned needs --out');
  if (flags.out !== undefined && flags.unsigned !== true && flags.signingKey === undefined) {
    issues.push('--out needs --signing-key, or --unsigned for a file to look at');
  }
  const plan = planOf(
    flags,
    context,
    { servers, signingKey, cluster: flags.cluster, lifetimeSeconds, comparesSchemas: flags.compareSchemas },
    issues,
  );
  return issues.length > 0 ? { issues } : { plan };
}

type CommonOptions = Pick<
  RunSyncOptions,
  'servers' | 'signingKey' | 'cluster' | 'lifetimeSeconds' | 'comparesSchemas'
>;

function planOf(
  flags: SyncFlags,
  context: CommandContext,
  common: CommonOptions,
  issues: string[],
): SyncPlan {
  if (flags.from !== undefined) {
    const { servers, signingKey, cluster, lifetimeSeconds, comparesSchemas } = common;
    const file = offlineFile(flags, issues);
    const made = { servers, signingKey, cluster, lifetimeSeconds, comparesSchemas };
    return { kind: 'offline', folder: flags.from, file, ...made };
  }
  const { servers } = common;
  const clientCertificate = readClientCertificate(flags, context, issues);
  if (flags.record !== undefined) {
    const given = [...givenTargetFlags(flags), ...givenLiveFlags(flags), ...givenClusterFlags(flags)];
    refuse(given, 'with --record, which only reads the servers that are listed', issues);
    if (flags.out !== undefined) issues.push('--out has no use with --record, which only reads');
    if (flags.compareSchemas !== undefined) {
      issues.push('--compare-schemas has no use with --record, which saves what is compared');
    }
    if (flags.server === undefined) issues.push(serverIsRequired);
    const certificateAuthorities = readPeerAuthorities(flags, context, issues);
    return {
      kind: 'record',
      folder: flags.record,
      options: { servers, certificateAuthorities, clientCertificate },
    };
  }
  const kubernetes = readSyncClusterFlags(flags, issues);
  if (flags.server === undefined && kubernetes === undefined) {
    issues.push(`${serverIsRequired}; or --kubeconfig or --in-cluster, to find the servers`);
  }
  const usesOwnAuthorities = kubernetes !== undefined && flags.peerCaFile === undefined;
  const once = flags.once === true;
  const endpoints = once ? undefined : readEndpointFlags(flags, context, issues);
  return {
    kind: 'live',
    once,
    endpoints,
    options: {
      ...common,
      kubernetes,
      certificateAuthorities: usesOwnAuthorities ? undefined : readPeerAuthorities(flags, context, issues),
      clientCertificate,
      ...live(flags, context, issues),
    },
  };
}

const serverIsRequired = '--server is required, for example --server cp-a=https://10.0.0.1:6443';

function readPeerAuthorities({ peerCaFile }: SyncFlags, context: CommandContext, issues: string[]): string {
  return readRequiredFlagFile('--peer-ca-file', peerCaFile, context, issues);
}

function offlineFile(flags: SyncFlags, issues: string[]): OfflineSync['file'] {
  if (flags.out === undefined) issues.push('--from needs --out: the file to write the snapshot to');
  if (flags.record !== undefined) issues.push('--record has no use with --from, which works offline');
  const given = [...givenTargetFlags(flags), ...givenLiveFlags(flags), ...givenClusterFlags(flags)];
  refuse(given, 'with --from, which works offline', issues);
  return { file: flags.out ?? '', unsigned: flags.unsigned === true };
}

function refuse(given: readonly string[], where: string, issues: string[]): void {
  for (const flag of given) issues.push(`${flag} has no use ${where}`);
}

/** Flags that only a sync job that goes on has a use for, of those that are given. */
function givenLiveFlags(flags: SyncFlags): string[] {
  const given = [
    ['--interval', flags.interval],
    ['--departed-server-grace', flags.departedServerGrace],
    ['--state-file', flags.stateFile],
    ['--leader-elect', flags.leaderElect],
    ['--health-port', flags.healthPort],
  ] as const;
  return given.flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
}

type LiveOptions = Omit<RunSyncOptions, keyof CommonOptions | keyof ReadingOptions>;

function live(flags: SyncFlags, context: CommandContext, issues: string[]): LiveOptions {
  const { out, interval } = flags;
  const pushing = givenTargetFlags(flags);
  if (pushing.length === 0 && out === undefined)
    issues.push('--target or --out is required: where snapshots go');
  for (const flag of pushing) {
    if (flags.signingKey === undefined)
      issues.push(`${flag} needs --signing-key: routers take nothing unsigned`);
  }
  if (flags.once === true) {
    if (interval !== undefined) issues.push('--interval has no use with --once');
    if (flags.leaderElect === true) issues.push('--leader-elect has no use with --once');
    if (flags.healthPort !== undefined) issues.push('--health-port has no use with --once');
  }
  const milliseconds = syncFlagValue('interval', interval, issues);
  return {
    ...readSyncTargets(flags, context, issues),
    files: out === undefined ? [] : [{ file: out, unsigned: flags.unsigned === true }],
    stateFile: flags.stateFile,
    leaderElection: readLeaderElectionFlags(flags, issues),
    departedServerGraceMilliseconds: syncFlagValue(
      'departed-server-grace',
      flags.departedServerGrace,
      issues,
    ),
    ...(milliseconds === undefined ? {} : { timing: { interval: milliseconds } }),
  };
}

function readClientCertificate(
  { clientCertFile, clientKeyFile, target, targetTokenFile, kubeconfig }: SyncFlags,
  context: CommandContext,
  issues: string[],
): RunSyncOptions['clientCertificate'] {
  if (clientCertFile === undefined && clientKeyFile === undefined) {
    // A kubeconfig may bring a certificate; whether it does is seen when it is loaded.
    if (target !== undefined && targetTokenFile === undefined && kubeconfig === undefined) {
      issues.push(
        '--target needs --client-cert-file and --client-key-file, or --target-token-file: routers take nothing from strangers',
      );
    }
    return undefined;
  }
  return {
    certificate: readRequiredFlagFile('--client-cert-file', clientCertFile, context, issues),
    key: readRequiredFlagFile('--client-key-file', clientKeyFile, context, issues),
  };
}

function readSigningKey(flags: SyncFlags, context: CommandContext, issues: string[]): JWK | undefined {
  if (flags.signingKey === undefined) return undefined;
  const text = readFlagFile('--signing-key', flags.signingKey, context, issues);
  if (text === '') return undefined;
  try {
    const jwk = JSON.parse(text) as JWK;
    signingKeyOf(jwk);
    return jwk;
  } catch (error) {
    // The JSON parser's message would quote the file, which is secret.
    const reason = error instanceof SyntaxError ? 'it is not JSON' : errorMessage(error);
    issues.push(`--signing-key: ${flags.signingKey} cannot be used: ${reason}`);
    return undefined;
  }
}

/** Those that are given. */
function givenClusterFlags({ kubeconfig, context, inCluster }: GivenSyncFlags): string[] {
  const given = [
    ['--kubeconfig', kubeconfig],
    ['--context', context],
    ['--in-cluster', inCluster],
  ] as const;
  return given.flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
}

/** @returns `undefined` when servers are listed by hand alone */
function readSyncClusterFlags(
  { kubeconfig, context, inCluster }: GivenSyncFlags,
  issues: string[],
): RunSyncOptions['kubernetes'] {
  if (kubeconfig === undefined && context !== undefined) issues.push('--context needs --kubeconfig');
  if (kubeconfig !== undefined && inCluster === true) {
    issues.push('--kubeconfig and --in-cluster name two clusters: keep one');
  }
  if (kubeconfig !== undefined) return { kubeconfig, context };
  return inCluster === true ? { inCluster } : undefined;
}

/** Where the process's endpoints are to be. */
interface EndpointFlags {
  readonly address: string;
  readonly port: number;
  readonly tls: { readonly certificate: string; readonly key: string } | undefined;
}

/** @returns `undefined` when they are turned off */
export function readEndpointFlags(
  flags: GivenSyncFlags,
  context: CommandContext,
  issues: string[],
): EndpointFlags | undefined {
  const { tlsCertFile, tlsPrivateKeyFile } = flags;
  const port = syncFlagValue('health-port', flags.healthPort, issues);
  const address = syncFlagValue('bind-address', flags.bindAddress, issues);
  const tls =
    tlsCertFile === undefined && tlsPrivateKeyFile === undefined
      ? undefined
      : {
          certificate: readRequiredFlagFile('--tls-cert-file', tlsCertFile, context, issues),
          key: readRequiredFlagFile('--tls-private-key-file', tlsPrivateKeyFile, context, issues),
        };
  return port === 0 || port === undefined || address === undefined ? undefined : { address, port, tls };
}

export function readLeaderElectionFlags(
  flags: GivenSyncFlags,
  issues: string[],
): RunSyncLeaderElection | undefined {
  const { leaderElect, leaderElectLeaseName, leaderElectLeaseNamespace, leaderElectLeaseDuration } = flags;
  if (leaderElect !== true) {
    for (const [flag, value] of [
      ['--leader-elect-lease-name', leaderElectLeaseName],
      ['--leader-elect-lease-namespace', leaderElectLeaseNamespace],
      ['--leader-elect-lease-duration', leaderElectLeaseDuration],
    ] as const) {
      if (value !== undefined) issues.push(`${flag} needs --leader-elect`);
    }
    return undefined;
  }
  return {
    name: syncFlagValue('leader-elect-lease-name', leaderElectLeaseName, issues) ?? '',
    namespace: syncFlagValue('leader-elect-lease-namespace', leaderElectLeaseNamespace, issues) ?? '',
    leaseDuration: syncFlagValue('leader-elect-lease-duration', leaderElectLeaseDuration, issues),
  };
}
