import type { EmbeddedSyncConfig, ServeConfig } from '../../node/configuration/serve-config.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { describeKeysIssue, parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import type { ServeFlagValues } from '../flags/serve-flags.ts';
import { readListedServers } from '../flags/shared-flag-groups.ts';

/** Reads where snapshots come from, and who may sign them. */
export async function readSnapshotFlags(
  flags: ServeFlagValues,
  featureGateEnabled: boolean,
): Promise<ServeConfig['snapshot']> {
  const file = flags.text('snapshot-file');
  const isOwn = readsClusterItself(flags);
  const hasKeys = flags.isGiven('snapshot-keys');
  if (featureGateEnabled && !isOwn && !hasKeys) {
    flags.issue(
      'snapshot-keys',
      'the router has nothing to know the servers by: set --kubeconfig (or --in-cluster), and it reads the cluster itself; or --snapshot-keys, with which it checks the snapshots of a sync job',
    );
  }
  if (featureGateEnabled && (isOwn || hasKeys) && file === undefined) {
    flags.warn(
      'snapshot-file',
      isOwn
        ? '--snapshot-file is not set: after a restart the router knows nothing of a server that it cannot read then'
        : '--snapshot-file is not set: after a restart the router knows nothing until the next snapshot is pushed',
    );
  }
  return { file, keys: await readKeys(flags) };
}

async function readKeys(flags: ServeFlagValues): Promise<ServeConfig['snapshot']['keys']> {
  const flag = 'snapshot-keys';
  const file = flags.file(flag);
  if (file === undefined) return undefined;
  const result = await parseSnapshotKeys(file.text);
  if (result.ok) return { ...file, pinned: result.keys };
  for (const issue of result.issues) flags.issue(flag, `--${flag}: ${describeKeysIssue(file.path, issue)}`);
  return undefined;
}

/** Whether the router is to read the cluster itself. */
function readsClusterItself(flags: ServeFlagValues): boolean {
  return flags.isGiven('kubeconfig') || flags.value('in-cluster') === true;
}

/** Reads how the router reads the cluster itself; `undefined` where snapshots are pushed, and after an error. */
export async function readEmbeddedSyncFlags(
  flags: ServeFlagValues,
  featureGateEnabled: boolean,
): Promise<EmbeddedSyncConfig | undefined> {
  if (!featureGateEnabled || !readsClusterItself(flags)) return undefined;
  const name = flags.isGiven('kubeconfig') ? 'kubeconfig' : 'in-cluster';
  rejectPushedForm(flags, name);
  const access = await readAccess(flags);
  const servers = readListedServers(flags, flags.list('server'));
  const others = flags.values({ departedServerGrace: 'departed-server-grace' });
  const cluster = flags.text('cluster');
  if (access === undefined || others === undefined) return undefined;
  return { access, servers, ...others, cluster };
}

const advertisingFlags = ['peer-advertise-ip', 'advertise-address'] as const;

/** Two that make snapshots would take turns in overtaking each other. */
function rejectPushedForm(flags: ServeFlagValues, name: 'kubeconfig' | 'in-cluster'): void {
  if (flags.isGiven('kubeconfig') && flags.value('in-cluster') === true) {
    flags.issue('in-cluster', '--kubeconfig and --in-cluster name two clusters: keep one');
  }
  if (flags.isGiven('snapshot-keys')) {
    flags.issue(
      'snapshot-keys',
      `--snapshot-keys and --${name} exclude each other: with --${name} the router reads the cluster itself and takes no pushed snapshot. Remove --snapshot-keys, or --${name} to go on with a sync job that pushes`,
    );
  }
  if (flags.value('gateway') === true) return;
  for (const flag of advertisingFlags) {
    if (!flags.isGiven(flag)) continue;
    flags.warn(
      flag,
      `--${flag} has no use with --${name}: routers that read the cluster themselves call each other's API servers at the addresses that Leases and EndpointSlices have`,
    );
  }
}

async function readAccess(flags: ServeFlagValues): Promise<EmbeddedSyncConfig['access'] | undefined> {
  if (!flags.isGiven('kubeconfig')) {
    return (await isUsable(flags, 'in-cluster', { inCluster: true })) ? { inCluster: true } : undefined;
  }
  const context = flags.text('context');
  const kubeconfig = flags.file('kubeconfig');
  if (kubeconfig === undefined) return undefined;
  const { path, text } = kubeconfig;
  return (await isUsable(flags, 'kubeconfig', { kubeconfig: path, text, context }))
    ? { kubeconfig, context }
    : undefined;
}

async function isUsable(
  flags: ServeFlagValues,
  name: 'kubeconfig' | 'in-cluster',
  access: { readonly inCluster: true } | { kubeconfig: string; text: string; context: string | undefined },
): Promise<boolean> {
  // Loaded only where it is used: it is larger than all else together.
  const { loadClusterAccess } = await import('../../sync/node/cluster-access.ts');
  try {
    await loadClusterAccess(access);
    return true;
  } catch (error) {
    flags.issue(name, `--${name}: ${errorMessage(error)}`);
    return false;
  }
}
