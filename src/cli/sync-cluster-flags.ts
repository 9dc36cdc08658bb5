import type { RunSyncOptions } from '../sync/node/run-sync-options.ts';

/** The flags of `sync` that say how the cluster is reached, so that it tells which servers it has. */
export interface SyncClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly inCluster?: true;
}

/** Those that are given. */
export function givenClusterFlags({ kubeconfig, context, inCluster }: SyncClusterFlags): string[] {
  const given = [
    ['--kubeconfig', kubeconfig],
    ['--context', context],
    ['--in-cluster', inCluster],
  ] as const;
  return given.flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
}

/** @returns `undefined` when servers are listed by hand alone */
export function readSyncClusterFlags(
  { kubeconfig, context, inCluster }: SyncClusterFlags,
  faults: string[],
): RunSyncOptions['kubernetes'] {
  if (kubeconfig === undefined && context !== undefined)
    faults.push('--context needs --kubeconfig beside it');
  if (kubeconfig !== undefined && inCluster === true) {
    faults.push('--kubeconfig and --in-cluster name two clusters: keep one');
  }
  if (kubeconfig !== undefined) return { kubeconfig, context };
  return inCluster === true ? { inCluster } : undefined;
}
