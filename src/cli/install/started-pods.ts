import type { ControlPlane, MirrorPod } from './control-plane.ts';
import { type InstallationSite, waitUntil } from './installation-checks.ts';
import type { NodeComponent } from './node-components.ts';

/** A static pod of the node that is waited for. */
export interface AwaitedPod {
  readonly name: 'kube-apiserver' | 'mixed-version-proxy';
  readonly port: number;
  /** True if a mirror is the one of the manifest that has been written. Absent: none has been. */
  readonly isOfManifest?: (mirror: MirrorPod) => boolean;
  /** True if another pod answers on the port until the kubelet has ended it. Default: no. */
  readonly isReplacing?: boolean;
}

export function routerOf({ routerPort }: { readonly routerPort: number }): AwaitedPod {
  return { name: 'mixed-version-proxy', port: routerPort };
}

export async function untilStarted(
  controlPlane: ControlPlane,
  pod: AwaitedPod,
  site: InstallationSite,
): Promise<void> {
  await site.say(`waiting for ${pod.name === 'kube-apiserver' ? pod.name : 'the router'} on ${pod.port}`);
  await waitUntil(site, () => reasonNotStarted(controlPlane, pod));
}

/** A pod that has no port to ask on from elsewhere: the kubelet's word alone tells. */
export async function untilStartedAnew(
  controlPlane: ControlPlane,
  name: NodeComponent['name'],
  isOfManifest: (mirror: MirrorPod) => boolean,
  site: InstallationSite,
): Promise<void> {
  await site.say(`waiting for ${name}`);
  await waitUntil(site, async () => {
    const mirror = await controlPlane.mirrorOf(name);
    if (mirror === undefined || !isOfManifest(mirror)) return notTakenUp(name);
    if (mirror.isReady) return undefined;
    return mirror.trouble ?? `the pod ${name} is not ready`;
  });
}

function notTakenUp(name: string): string {
  return `the API does not show that the kubelet has taken up the manifest of ${name}: see that the kubelet and the container runtime run`;
}

export async function untilFree(port: number, site: InstallationSite): Promise<void> {
  await site.say(`waiting until ${port} is free`);
  await waitUntil(site, async () =>
    (await site.node.isTaken(port)) ? `something still listens on ${port}` : undefined,
  );
}

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
  const trouble = isTakenUp ? mirror?.trouble : notTakenUp(name);
  return [reason, trouble].filter((each) => each !== undefined).join('; ');
}
