import type { JWK } from 'jose';
import type { FlagOf } from '../../node/configuration/setting.ts';
import { isBearerToken } from '../../runtime/bearer-token.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { signingKeyOf } from '../../snapshot/signing/seal.ts';
import type { SnapshotFromFolderOptions } from '../../sync/node/recording.ts';
import type { SyncOptions } from '../../sync/node/sync-options.ts';
import { CertificateFiles } from '../settings/certificate-files.ts';
import { readGiven } from '../settings/configuration-file.ts';
import { type RawFlags, Settings } from '../settings/read-settings.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { syncConfiguration, syncFlags } from './sync-settings.ts';

export type SyncFlags = RawFlags<FlagOf<typeof syncFlags>>;
type SyncSettings = Settings<typeof syncFlags>;

/** A snapshot made offline, of a folder of recorded responses. */
export interface OfflineSync {
  readonly kind: 'offline';
  readonly folder: string;
  readonly options: SnapshotFromFolderOptions;
}

export interface LiveSync {
  readonly kind: 'live';
  readonly once: boolean;
  readonly options: SyncOptions;
  /** Where the process's endpoints are to be; `undefined`: nowhere. */
  readonly endpoints: { readonly address: string; readonly port: number } | undefined;
}

type SyncPlan = OfflineSync | LiveSync;

/**
 * Checks all that `sync` was called with: flags, configuration file, and the files that they name.
 * @throws {CommandFailure} exit code 2, one line for every error.
 */
export function readSyncInput(flags: SyncFlags, context: CommandContext) {
  const given = readGiven(context, syncConfiguration, syncFlags, flags);
  const settings = new Settings(syncFlags, given.layers, context.readFile);
  const plan = planSync(settings);
  // Files that could not be read have their errors already: no more is to be told of them.
  if (settings.issues.length === 0 && plan.kind !== 'offline') checkPemFiles(settings, context.clock());
  const lines = [...given.issues, ...given.certain(settings.issues)];
  if (lines.length > 0) throw new CommandFailure(2, lines);
  const { logging, snapshot } = settings.values;
  /** `snapshotKeys`: the file of `--snapshot-keys`. */
  return { plan, logging, snapshotKeys: snapshot.keysFile };
}

/** Turns the settings into what is to be done. To be done only where they have no issues afterwards. */
export function planSync(settings: SyncSettings): SyncPlan {
  settings.check();
  const { call, snapshot, apiServers } = settings.values;
  if (settings.isGiven('out') && snapshot.unsigned !== true && !settings.isGiven('signing-key')) {
    settings.issue('out', '--out needs --signing-key, or --unsigned for a file to look at', true);
  }
  const common = {
    servers: apiServers.servers ?? [],
    signingKey: readSigningKey(settings),
    cluster: snapshot.cluster,
  };
  const { outFile, unsigned = false } = snapshot;
  const files = outFile === undefined ? [] : [{ file: outFile, unsigned }];
  if (settings.isGiven('from')) {
    return { kind: 'offline', folder: call.from ?? '', options: { ...common, files } };
  }
  const clientCertificate = readClientCertificate(settings);
  return planLive(settings, { ...common, files, clientCertificate });
}

function planLive(
  settings: SyncSettings,
  common: Pick<SyncOptions, 'servers' | 'signingKey' | 'cluster' | 'files' | 'clientCertificate'>,
): LiveSync {
  const { call, apiServers, snapshot, routers, endpoints, peers } = settings.values;
  const { kubeconfig, context } = apiServers;
  const inCluster = apiServers.inCluster === true;
  checkCall(settings);
  const { targets = [], workerTargets = [], serverName } = routers;
  const once = call.once === true || settings.isGiven('record');
  const hasEndpoints = !once && endpoints.port !== 0;
  return {
    kind: 'live',
    once,
    endpoints: hasEndpoints ? { address: endpoints.bindAddress, port: endpoints.port } : undefined,
    options: {
      ...common,
      ...readCredentials(settings, common.clientCertificate),
      kubernetes:
        kubeconfig === undefined ? (inCluster ? { inCluster } : undefined) : { kubeconfig, context },
      peers,
      routerBearerToken: readTargetToken(settings),
      routers: [
        ...targets.map((url) => ({ url, serverName })),
        ...workerTargets.map((url) => ({ url, publicAuthorities: true })),
      ],
      timing: { grace: snapshot.departedServerGrace },
      record: call.record,
    },
  };
}

/** Where from, and where to: flags that need each other, or exclude each other. */
function checkCall(settings: SyncSettings): void {
  const inCluster = settings.values.apiServers.inCluster === true;
  if (settings.isGiven('kubeconfig') && inCluster) {
    settings.issue('in-cluster', '--kubeconfig and --in-cluster name two clusters: keep one');
  }
  if (!settings.isGiven('server') && !settings.isGiven('kubeconfig') && !inCluster) {
    settings.issue(
      'server',
      '--server is required, for example --server cp-a=https://10.0.0.1:6443; or --kubeconfig or --in-cluster, to find the servers',
    );
  }
  const hasTargets = settings.isGiven('target') || settings.isGiven('worker-target');
  if (!settings.isGiven('out') && !hasTargets && !settings.isGiven('record')) {
    settings.issue('target', '--target or --out is required: where snapshots go');
  }
  if (settings.isGiven('worker-target') && !settings.isGiven('target-token-file')) {
    const why = 'a Worker sees no client certificate of yours';
    settings.issue('worker-target', `--worker-target needs --target-token-file: ${why}`, true);
  }
}

type ReadCredentials = Pick<
  SyncOptions,
  'certificateAuthorities' | 'routerCertificateAuthorities' | 'credentials'
>;

/** Read at start, so that a wrong path is an error then, and again for each request: files are renewed. */
function readCredentials(settings: SyncSettings, given: SyncOptions['clientCertificate']): ReadCredentials {
  const { apiServers, routers, client } = settings.values;
  const isFound = settings.isGiven('kubeconfig') || apiServers.inCluster === true;
  const usesOwnAuthorities = isFound && !settings.isGiven('peer-ca-file');
  const peerFile = usesOwnAuthorities ? undefined : apiServers.caFile;
  const certificateAuthorities = usesOwnAuthorities ? undefined : readPeerAuthorities(settings);
  const routerCertificateAuthorities = settings.file('target-ca-file', routers.caFile)?.text;
  const ofPeers = lastReadable(settings, peerFile, certificateAuthorities);
  const ofRouters = lastReadable(settings, routers.caFile, routerCertificateAuthorities);
  const ofCertificate = lastReadable(settings, client.certFile, given?.certificate);
  const ofKey = lastReadable(settings, client.keyFile, given?.key);
  return {
    certificateAuthorities,
    routerCertificateAuthorities,
    credentials() {
      const [certificate, key] = [ofCertificate(), ofKey()];
      return {
        certificateAuthorities: ofPeers(),
        clientCertificate: certificate !== undefined && key !== undefined ? { certificate, key } : undefined,
        routerCertificateAuthorities: ofRouters(),
      };
    },
  };
}

/** A file's text as it is now; as it was last while it cannot be read or is empty: it is being replaced, or was a pipe. */
function lastReadable(
  { readFile }: Pick<SyncSettings, 'readFile'>,
  path: string | undefined,
  first: string | undefined,
): () => string | undefined {
  let last = first;
  return () => {
    if (path === undefined) return undefined;
    try {
      last = readFile(path) || last;
    } catch {
      // The last text stays.
    }
    return last;
  };
}

function readPeerAuthorities(settings: SyncSettings): string | undefined {
  settings.require('peer-ca-file');
  return settings.file('peer-ca-file', settings.values.apiServers.caFile)?.text;
}

function readClientCertificate(settings: SyncSettings): SyncOptions['clientCertificate'] {
  const { certFile, keyFile } = settings.values.client;
  if (settings.isGiven('client-cert-file') || settings.isGiven('client-key-file')) {
    settings.require('client-cert-file');
    settings.require('client-key-file');
    const certificate = settings.file('client-cert-file', certFile)?.text;
    const key = settings.file('client-key-file', keyFile)?.text;
    return certificate === undefined || key === undefined ? undefined : { certificate, key };
  }
  // A kubeconfig may bring a certificate; whether it does is seen when it is loaded.
  const knowsOtherWay = settings.isGiven('target-token-file') || settings.isGiven('kubeconfig');
  if (settings.isGiven('target') && !knowsOtherWay) {
    const others = '--client-cert-file and --client-key-file, or --target-token-file';
    settings.issue('target', `--target needs ${others}: routers take nothing from strangers`, true);
  }
  return undefined;
}

function readSigningKey(settings: SyncSettings): JWK | undefined {
  const file = settings.file('signing-key', settings.values.snapshot.signingKeyFile);
  if (file === undefined) return undefined;
  try {
    const jwk = JSON.parse(file.text) as JWK;
    signingKeyOf(jwk);
    return jwk;
  } catch (error) {
    // The JSON parser's message would quote the file, which is secret.
    const reason = error instanceof SyntaxError ? 'it is not JSON' : errorMessage(error);
    return settings.issue('signing-key', `--signing-key: ${file.path} cannot be used: ${reason}`);
  }
}

/** Read at start, so that a wrong path is an error then, and again for each request, since tokens are rotated. */
function readTargetToken(settings: SyncSettings): (() => string) | undefined {
  const flag = 'target-token-file';
  const file = settings.file(flag, settings.values.routers.tokenFile);
  if (file === undefined) return undefined;
  const { path, text } = file;
  const wrong = `--${flag}: ${path} must hold one token and nothing else`;
  if (!isBearerToken(text.trim())) settings.issue(flag, wrong);
  return () => {
    const token = settings.readFile(path).trim();
    if (!isBearerToken(token)) throw new TypeError(wrong);
    return token;
  };
}

/** Reports what is no certificate or key: left to TLS, an error would name neither the file nor its flag. */
function checkPemFiles(settings: SyncSettings, now: number): void {
  const { apiServers, routers, client } = settings.values;
  const files = new CertificateFiles(settings, now);
  files.certificates('peer-ca-file', apiServers.caFile);
  files.certificates('target-ca-file', routers.caFile);
  files.pair('client-cert-file', client.certFile, 'client-key-file', client.keyFile);
}
