import type { EmbeddedSyncConfig, ServeConfig } from '../../node/configuration/serve-config.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import { describeKeysIssue, parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import { unknownVersionInteroperabilityProxy } from '../flags/feature-gates.ts';
import type { FlagReport, FlagValues } from '../flags/flag-values.ts';
import { readListedServers } from '../flags/shared-flag-groups.ts';
import type { CertificateFiles } from './certificate-files.ts';

/** Reads where snapshots come from, who may sign them and what happens without a current one. */
export async function readSnapshotFlags(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
  featureGateEnabled: boolean,
): Promise<ServeConfig['snapshot'] | undefined> {
  const file = values.text('snapshot-file');
  const isOwn = readsClusterItself(values);
  const keysPath = values.text('snapshot-keys');
  if (featureGateEnabled && !isOwn && !values.isGiven('snapshot-keys')) {
    report.issue(
      'snapshot-keys',
      'the router has nothing to know the servers by: set --kubeconfig (or --in-cluster), and it reads the cluster itself; or --snapshot-keys, with which it checks the snapshots of a sync job',
    );
  }
  const stalePolicy = values.value('snapshot-stale-policy');
  if (featureGateEnabled && (isOwn || keysPath !== undefined) && file === undefined) {
    report.warn(
      'snapshot-file',
      isOwn
        ? '--snapshot-file is not set: after a restart the router knows nothing of a server that it cannot read then'
        : '--snapshot-file is not set: after a restart the router knows nothing until the next snapshot is pushed',
    );
  }
  const keys = keysPath === undefined ? undefined : await readKeys(keysPath, report, files);
  return stalePolicy === undefined ? undefined : { file, keys, stalePolicy };
}

async function readKeys(
  path: string,
  report: FlagReport,
  files: CertificateFiles,
): Promise<ServeConfig['snapshot']['keys']> {
  const flag = 'snapshot-keys';
  const text = files.text(flag, path);
  if (text === undefined) return undefined;
  const result = await parseSnapshotKeys(text);
  if (result.ok) return { path, text, pinned: result.keys };
  for (const issue of result.issues) {
    report.issue(flag, `--${flag}: ${describeKeysIssue(path, issue)}`);
  }
  return undefined;
}

/** Of no use without a cluster to read. */
const furtherFlags = ['context', 'server', 'departed-server-grace', 'compare-schemas', 'cluster'] as const;
const advertisingFlags = ['peer-advertise-ip', 'advertise-address'] as const;

/** Whether the router is to read the cluster itself. */
function readsClusterItself(values: FlagValues): boolean {
  return values.isGiven('kubeconfig') || values.value('in-cluster') === true;
}

/** Reads how the router reads the cluster itself; `undefined` where snapshots are pushed, and after an error. */
export async function readEmbeddedSyncFlags(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
  featureGateEnabled: boolean,
): Promise<EmbeddedSyncConfig | undefined> {
  if (!readsClusterItself(values)) {
    for (const name of furtherFlags) {
      if (!values.isGiven(name)) continue;
      report.issue(
        name,
        `--${name} needs --kubeconfig or --in-cluster: it says how the router reads the cluster`,
      );
    }
    return undefined;
  }
  const name = values.isGiven('kubeconfig') ? 'kubeconfig' : 'in-cluster';
  if (!featureGateEnabled) {
    return report.issue(
      name,
      `--${name} requires ${unknownVersionInteroperabilityProxy} feature to be turned on`,
    );
  }
  rejectPushedForm(values, report, name);
  const access = await readAccess(values, report, files);
  const listed: string[] = [];
  const servers = readListedServers(values.list('server'), listed);
  for (const message of listed) report.issue('server', message);
  const others = values.values({
    departedServerGrace: 'departed-server-grace',
    comparesSchemas: 'compare-schemas',
  });
  const cluster = values.text('cluster');
  if (access === undefined || others === undefined) return undefined;
  return { access, servers, ...others, cluster };
}

/** Two that make snapshots would take turns in overtaking each other. */
function rejectPushedForm(values: FlagValues, report: FlagReport, name: 'kubeconfig' | 'in-cluster'): void {
  if (values.isGiven('kubeconfig') && values.value('in-cluster') === true) {
    report.issue('in-cluster', '--kubeconfig and --in-cluster name two clusters: keep one');
  }
  if (values.isGiven('snapshot-keys')) {
    report.issue(
      'snapshot-keys',
      `--snapshot-keys and --${name} exclude each other: with --${name} the router reads the cluster itself and takes no pushed snapshot. Remove --snapshot-keys, or --${name} to go on with a sync job that pushes`,
    );
  }
  if (values.value('gateway') === true) return;
  for (const flag of advertisingFlags) {
    if (!values.isGiven(flag)) continue;
    report.warn(
      flag,
      `--${flag} has no use with --${name}: routers that read the cluster themselves call each other's API servers at the addresses that Leases and EndpointSlices have`,
    );
  }
}

async function readAccess(
  values: FlagValues,
  report: FlagReport,
  files: CertificateFiles,
): Promise<EmbeddedSyncConfig['access'] | undefined> {
  const context = values.text('context');
  if (!values.isGiven('kubeconfig')) {
    if (context !== undefined) report.issue('context', '--context needs --kubeconfig');
    return (await isUsable({ inCluster: true }, 'in-cluster', report)) ? { inCluster: true } : undefined;
  }
  const path = values.text('kubeconfig');
  const text = path === undefined ? undefined : files.text('kubeconfig', path);
  if (path === undefined || text === undefined) return undefined;
  return (await isUsable({ kubeconfig: path, text, context }, 'kubeconfig', report))
    ? { kubeconfig: { path, text }, context }
    : undefined;
}

async function isUsable(
  access: { readonly inCluster: true } | { kubeconfig: string; text: string; context: string | undefined },
  name: 'kubeconfig' | 'in-cluster',
  report: FlagReport,
): Promise<boolean> {
  // Loaded only where it is used: it is larger than all else together.
  const { loadClusterAccess } = await import('../../sync/node/cluster-access.ts');
  try {
    await loadClusterAccess(access);
    return true;
  } catch (error) {
    report.issue(name, `--${name}: ${errorMessage(error)}`);
    return false;
  }
}
