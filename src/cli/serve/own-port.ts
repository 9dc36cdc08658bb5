import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { isLoopback } from '../../node/serving/default-interface.ts';
import { originOf } from './found-settings.ts';
import { parseKubeApiServerManifest } from './kube-apiserver-manifest.ts';

export type Listening = Pick<ServeConfig, 'bindAddress' | 'securePort'>;

/** What to do about a kube-apiserver that is to have the router's port again. */
export const repeatInstallation =
  'kubeadm moves it there when it upgrades without --patches /etc/kubernetes/patches: then repeat mixed-version-proxy install kubeadm on this node';

/** Whether a server on this machine would have to listen where the router does. */
export function isOwnPort(origin: string, { bindAddress, securePort }: Listening): boolean {
  const { hostname, port } = new URL(origin);
  const isEverywhere = bindAddress === '0.0.0.0' || bindAddress === '::';
  const isHere = hostname === bindAddress || (isEverywhere && isLoopback(hostname));
  return isHere && Number(port || 443) === securePort;
}

/**
 * Why a router cannot go on by what the manifest says now in which it has found its local server; `undefined`: it can.
 * Pure.
 * @param inUse where the router reaches that server
 * @throws {TypeError} what is wrong with the manifest
 */
export function movedServer(manifest: string, inUse: string, listening: Listening): string | undefined {
  const origin = originOf(parseKubeApiServerManifest(manifest).flags);
  if (origin === inUse) return undefined;
  if (isOwnPort(origin, listening)) {
    return `kube-apiserver is to listen on ${listening.securePort}, where the router listens. ${repeatInstallation}`;
  }
  return `kube-apiserver is to listen at ${origin}, and the router reaches it at ${inUse}: restart the router`;
}
