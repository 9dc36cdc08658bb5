/** A kubeconfig, or the surroundings of a pod, with which no cluster can be reached. The message says what to change. */
export class ClusterAccessError extends TypeError {
  override readonly name = 'ClusterAccessError';
}
