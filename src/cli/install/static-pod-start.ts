import type { ControlPlane } from './control-plane.ts';
import type { MirrorPod } from './objects/mirror-pod.ts';

/** A static pod of the node that is waited for. */
export interface AwaitedPod {
  /** As its mirror in the API begins. */
  readonly name: 'kube-apiserver' | 'mixed-version-proxy';
  readonly port: number;
  /** Whether a mirror is the one of the manifest that has been written. Absent: none has been. */
  readonly isOfManifest?: (mirror: MirrorPod) => boolean;
  /** Whether another pod answers on the port until the kubelet has ended it. Default: no. */
  readonly isReplacing?: boolean;
}

/** Why a static pod has not started, or is not ready; `undefined` when it is. */
export async function reasonNotStarted(
  controlPlane: ControlPlane,
  { name, port, isOfManifest, isReplacing = false }: AwaitedPod,
): Promise<string | undefined> {
  // Before the port: what answers there afterwards is the pod that the mirror tells of, or a later one.
  const asked = isReplacing ? await controlPlane.mirrorOf(name) : undefined;
  const reason = await controlPlane.notReady(port);
  if (reason === undefined && !isReplacing) return undefined;
  const mirror = isReplacing ? asked : await controlPlane.mirrorOf(name);
  const isTakenUp = isOfManifest === undefined || (mirror !== undefined && isOfManifest(mirror));
  if (reason === undefined && isTakenUp) return undefined;
  const trouble = isTakenUp
    ? mirror?.trouble
    : `the API does not show that the kubelet has taken up the manifest of ${name}: see that the kubelet and the container runtime run`;
  return [reason, trouble].filter((each) => each !== undefined).join('; ');
}
