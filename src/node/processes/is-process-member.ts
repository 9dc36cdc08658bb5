import cluster from 'node:cluster';

/** Whether this process was started by a supervisor, to be one of the processes of a router. */
export function isProcessMember(): boolean {
  return cluster.isWorker;
}
