import type { RunSyncOptions } from '../../sync/node/run-sync-options.ts';
import type { GivenSyncFlags } from '../flags/sync-flag-groups.ts';

/** Those that are given. */
export function givenClusterFlags({ kubeconfig, context, inCluster }: GivenSyncFlags): string[] {
  const given = [
    ['--kubeconfig', kubeconfig],
    ['--context', context],
    ['--in-cluster', inCluster],
  ] as const;
  return given.flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
}

/** @returns `undefined` when servers are listed by hand alone */
export function readSyncClusterFlags(
  { kubeconfig, context, inCluster }: GivenSyncFlags,
  faults: string[],
): RunSyncOptions['kubernetes'] {
  if (kubeconfig === undefined && context !== undefined) faults.push('--context needs --kubeconfig');
  if (kubeconfig !== undefined && inCluster === true) {
    faults.push('--kubeconfig and --in-cluster name two clusters: keep one');
  }
  if (kubeconfig !== undefined) return { kubeconfig, context };
  return inCluster === true ? { inCluster } : undefined;
}
