import type { EmbeddedSyncConfig } from '../../node/configuration/serve-config.ts';
import { errorMessage } from '../../runtime/errors.ts';
import type { ServeSettings } from './certificate-files.ts';

/** Whether the router is to read the cluster itself. */
function readsClusterItself(settings: ServeSettings): boolean {
  return settings.isGiven('kubeconfig') || settings.values.apiServers.inCluster === true;
}

/** Whether the router is told what servers serve, by itself or by a sync job. */
export function checkSnapshotSource(settings: ServeSettings, featureGateEnabled: boolean): void {
  const isOwn = readsClusterItself(settings);
  const hasKeys = settings.isGiven('snapshot-keys');
  if (featureGateEnabled && !isOwn && !hasKeys) {
    settings.issue(
      'snapshot-keys',
      'the router has nothing to know the servers by: set --kubeconfig (or --in-cluster), and it reads the cluster itself; or --snapshot-keys, with which it checks the snapshots of a sync job',
    );
  }
  if (featureGateEnabled && (isOwn || hasKeys) && !settings.isGiven('snapshot-file')) {
    const what = isOwn
      ? 'nothing of a server that it cannot read then'
      : 'nothing until the next snapshot is pushed';
    settings.warn('snapshot-file', `--snapshot-file is not set: after a restart the router knows ${what}`);
  }
}

/** Reads how the router reads the cluster itself; `undefined` where snapshots are pushed, and after an error. */
export async function readEmbeddedSync(
  settings: ServeSettings,
  featureGateEnabled: boolean,
): Promise<EmbeddedSyncConfig | undefined> {
  if (!featureGateEnabled || !readsClusterItself(settings)) return undefined;
  rejectPushedForm(settings);
  const access = await readAccess(settings);
  const { apiServers, snapshot } = settings.values;
  if (access === undefined) return undefined;
  const { departedServerGrace, cluster } = snapshot;
  return { access, servers: apiServers.servers ?? [], departedServerGrace, cluster };
}

/** Two that make snapshots would take turns in overtaking each other. */
function rejectPushedForm(settings: ServeSettings): void {
  const isKubeconfig = settings.isGiven('kubeconfig');
  const flag = isKubeconfig ? 'kubeconfig' : 'in-cluster';
  if (isKubeconfig && settings.values.apiServers.inCluster === true) {
    settings.issue('in-cluster', '--kubeconfig and --in-cluster name two clusters: keep one');
  }
  if (settings.isGiven('snapshot-keys')) {
    settings.issue(
      'snapshot-keys',
      `--snapshot-keys and --${flag} exclude each other: with --${flag} the router reads the cluster itself and takes no pushed snapshot. Remove --snapshot-keys, or --${flag} to go on with a sync job that pushes`,
    );
  }
  if (settings.values.gateway) return;
  for (const advertising of ['peer-advertise-ip', 'advertise-address'] as const) {
    if (!settings.isGiven(advertising)) continue;
    settings.warn(
      advertising,
      `--${advertising} has no use with --${flag}: routers that read the cluster themselves call each other's API servers at the addresses that Leases and EndpointSlices have`,
    );
  }
}

async function readAccess(settings: ServeSettings): Promise<EmbeddedSyncConfig['access'] | undefined> {
  const { kubeconfig: path, context } = settings.values.apiServers;
  const isKubeconfig = settings.isGiven('kubeconfig');
  const kubeconfig = settings.file('kubeconfig', path);
  if (isKubeconfig && kubeconfig === undefined) return undefined;
  // Loaded only where it is used: it is larger than all else together.
  const { loadClusterAccess } = await import('../../sync/node/cluster-access.ts');
  try {
    if (kubeconfig === undefined) {
      await loadClusterAccess({ inCluster: true });
      return { inCluster: true };
    }
    await loadClusterAccess({ kubeconfig: kubeconfig.path, text: kubeconfig.text, context });
    return { kubeconfig, context };
  } catch (error) {
    const flag = isKubeconfig ? 'kubeconfig' : 'in-cluster';
    return settings.issue(flag, `--${flag}: ${errorMessage(error)}`);
  }
}
