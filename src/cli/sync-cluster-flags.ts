import type { RunSyncOptions } from '../sync/node/run-sync-options.ts';
import type { CliCommand } from './cli-command.ts';

/** The flags of `sync` that say how the cluster is reached, so that it tells which servers it has. */
export interface SyncClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly inCluster?: true;
}

export function addSyncClusterOptions(command: CliCommand): CliCommand {
  return command
    .option('--kubeconfig <file>', 'Find the API servers through the cluster that this kubeconfig names.')
    .option('--context <name>', 'Context of --kubeconfig. Default: its current one.')
    .option('--in-cluster', 'Find them as the service account of the pod that this runs in.');
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
