import type { JWK } from 'jose';
import { parseHttpsOrigin } from '../snapshot/host-port.ts';
import { signingKeyOf } from '../snapshot/signing-key.ts';
import type { RunSyncOptions, RunSyncServer } from '../sync/node/run-sync.ts';
import { type CommandContext, messageOf } from './command-context.ts';
import { parseDuration } from './duration.ts';

/** The flags of `sync`, as commander gives them. */
export interface SyncFlags {
  readonly server?: readonly string[];
  readonly peerCaFile?: string;
  readonly clientCertFile?: string;
  readonly clientKeyFile?: string;
  readonly target?: readonly string[];
  readonly targetCaFile?: string;
  readonly targetServerName?: string;
  readonly signingKey?: string;
  readonly stateFile?: string;
  readonly out?: string;
  readonly unsigned?: true;
  readonly from?: string;
  readonly once?: true;
  readonly interval?: string;
  readonly lifetime?: string;
  readonly cluster?: string;
  readonly v: string;
  readonly loggingFormat: 'text' | 'json';
}

/** A snapshot made offline, of a folder of recorded answers. */
export interface OfflineSync {
  readonly kind: 'offline';
  readonly folder: string;
  readonly file: { readonly file: string; readonly unsigned: boolean };
  readonly servers: readonly RunSyncServer[];
  readonly signingKey: JWK | undefined;
  readonly cluster: string | undefined;
  readonly lifetimeSeconds: number | undefined;
}

/** A sync job that reads running servers. */
export interface LiveSync {
  readonly kind: 'live';
  readonly once: boolean;
  readonly options: RunSyncOptions;
}

export type SyncPlan = OfflineSync | LiveSync;

/** Turns the flags into what is to be done; every fault is named, or the plan is whole. */
export function planSync(
  flags: SyncFlags,
  context: CommandContext,
): { readonly plan: SyncPlan } | { readonly faults: readonly string[] } {
  const faults: string[] = [];
  const servers = readServers(flags.server ?? [], faults);
  const signingKey = readSigningKey(flags, context, faults);
  const lifetimeSeconds = readLifetime(flags.lifetime, faults);
  if (flags.unsigned === true && flags.out === undefined) faults.push('--unsigned needs --out beside it');
  if (flags.out !== undefined && flags.unsigned !== true && flags.signingKey === undefined) {
    faults.push('--out needs --signing-key, or --unsigned for a file to look at');
  }
  const common = { servers, signingKey, cluster: flags.cluster, lifetimeSeconds };
  const plan: SyncPlan =
    flags.from === undefined
      ? { kind: 'live', once: flags.once === true, options: { ...common, ...live(flags, context, faults) } }
      : { kind: 'offline', folder: flags.from, file: offlineFile(flags, faults), ...common };
  return faults.length > 0 ? { faults } : { plan };
}

function offlineFile(flags: SyncFlags, faults: string[]): OfflineSync['file'] {
  if (flags.out === undefined) faults.push('--from needs --out: the file to write the snapshot to');
  for (const [flag, value] of [
    ['--target', flags.target],
    ['--interval', flags.interval],
    ['--state-file', flags.stateFile],
  ] as const) {
    if (value !== undefined) faults.push(`${flag} has no use with --from, which works offline`);
  }
  return { file: flags.out ?? '', unsigned: flags.unsigned === true };
}

type LiveOptions = Omit<RunSyncOptions, 'servers' | 'signingKey' | 'cluster' | 'lifetimeSeconds'>;

function live(flags: SyncFlags, context: CommandContext, faults: string[]): LiveOptions {
  const { target = [], out, interval } = flags;
  if (flags.server === undefined)
    faults.push('--server is required, for example --server cp-a=https://10.0.0.1:6443');
  if (target.length === 0 && out === undefined)
    faults.push('--target or --out is required: where snapshots go');
  if (target.length > 0 && flags.signingKey === undefined) {
    faults.push('--target needs --signing-key: routers take nothing unsigned');
  }
  if (flags.once === true && interval !== undefined) faults.push('--interval has no use with --once');
  const milliseconds = interval === undefined ? undefined : parseDuration(interval);
  if (interval !== undefined && !(milliseconds !== undefined && milliseconds >= 100)) {
    faults.push(`--interval must be a duration of at least 100ms, such as 5s, not "${interval}"`);
  }
  return {
    certificateAuthorities: requiredFile('--peer-ca-file', flags.peerCaFile, context, faults),
    routerCertificateAuthorities:
      flags.targetCaFile === undefined
        ? undefined
        : readFile('--target-ca-file', flags.targetCaFile, context, faults),
    clientCertificate: readClientCertificate(flags, context, faults),
    routers: target.map((url) => ({
      url: readOrigin('--target', url, faults),
      serverName: flags.targetServerName,
    })),
    files: out === undefined ? [] : [{ file: out, unsigned: flags.unsigned === true }],
    stateFile: flags.stateFile,
    ...(milliseconds === undefined ? {} : { timing: { interval: milliseconds } }),
  };
}

function readClientCertificate(
  { clientCertFile, clientKeyFile, target }: SyncFlags,
  context: CommandContext,
  faults: string[],
): RunSyncOptions['clientCertificate'] {
  if (clientCertFile === undefined && clientKeyFile === undefined) {
    if (target !== undefined) {
      faults.push(
        '--target needs --client-cert-file and --client-key-file: routers take nothing from strangers',
      );
    }
    return undefined;
  }
  return {
    certificate: requiredFile('--client-cert-file', clientCertFile, context, faults),
    key: requiredFile('--client-key-file', clientKeyFile, context, faults),
  };
}

function readServers(entries: readonly string[], faults: string[]): readonly RunSyncServer[] {
  const ids = new Set<string>();
  return entries.map((entry) => {
    const equals = entry.indexOf('=');
    const id = entry.slice(0, Math.max(equals, 0));
    if (equals < 1) {
      faults.push(`--server must be id=https://host:port, not "${entry}"`);
      return { id: entry };
    }
    if (ids.has(id)) faults.push(`--server names ${id} twice`);
    ids.add(id);
    return { id, url: readOrigin('--server', entry.slice(equals + 1), faults) };
  });
}

function readOrigin(flag: string, text: string, faults: string[]): string {
  const parsed = parseHttpsOrigin(text);
  if (!parsed.ok) faults.push(`${flag} "${text}" ${parsed.message}`);
  return text;
}

function readSigningKey(flags: SyncFlags, context: CommandContext, faults: string[]): JWK | undefined {
  if (flags.signingKey === undefined) return undefined;
  const text = readFile('--signing-key', flags.signingKey, context, faults);
  if (text === '') return undefined;
  try {
    const jwk = JSON.parse(text) as JWK;
    signingKeyOf(jwk);
    return jwk;
  } catch (error) {
    // The JSON parser's message would quote the file, which is secret.
    const reason = error instanceof SyntaxError ? 'it is not JSON' : messageOf(error);
    faults.push(`--signing-key: ${flags.signingKey} cannot be used: ${reason}`);
    return undefined;
  }
}

function readLifetime(text: string | undefined, faults: string[]): number | undefined {
  if (text === undefined) return undefined;
  const milliseconds = parseDuration(text);
  if (milliseconds !== undefined && milliseconds >= 1000) return Math.floor(milliseconds / 1000);
  faults.push(`--lifetime must be a duration of at least 1s, such as 5m, not "${text}"`);
  return undefined;
}

function requiredFile(
  flag: string,
  path: string | undefined,
  context: CommandContext,
  faults: string[],
): string {
  if (path !== undefined) return readFile(flag, path, context, faults);
  faults.push(`${flag} is required`);
  return '';
}

function readFile(flag: string, path: string, context: CommandContext, faults: string[]): string {
  try {
    return context.readFile(path);
  } catch (error) {
    faults.push(`${flag}: cannot read ${path}: ${messageOf(error)}`);
    return '';
  }
}
