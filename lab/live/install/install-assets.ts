import { basename } from 'node:path';
import { nodeComponents } from '../../../src/cli/install/node-components.ts';
import { type ApiServerBinary, assetsOfEnvironment, isExecutable, listDirectory } from '../cluster/assets.ts';

/** The binaries of one version of Kubernetes. */
export interface KubernetesRelease {
  /** `1.31`. */
  readonly version: string;
  readonly apiServer: ApiServerBinary;
  readonly kubeadm: string;
  /** Controller manager and scheduler, by name. Those that are not given are said to run. */
  readonly components: ReadonlyMap<string, string>;
}

/** Binaries that the installer is shown on: of a cluster of the older version, upgraded to the newer one. */
export interface InstallAssets {
  readonly etcd: string;
  readonly older: KubernetesRelease;
  readonly newer: KubernetesRelease;
}

export const installAssetsGuide =
  '  TEST_ASSET_KUBEADMS=<path>:<path>                  kubeadm-<version>, of two versions that there are kube-apiservers of; default: in the directory';

/** The oldest and the newest version that there are both binaries of. */
export function findInstallAssets(): InstallAssets | { readonly problems: readonly string[] } {
  const live = assetsOfEnvironment();
  if (!live.ok) return { problems: live.problems };
  const paths = [
    ...listDirectory(process.env['MIXED_VERSION_PROXY_LIVE_ASSETS'] ?? ''),
    ...(process.env['TEST_ASSET_KUBEADMS'] ?? '').split(':'),
  ];
  const programs = new Map(paths.filter(isExecutable).map((path) => [basename(path), path]));
  const releases = live.assets.apiServers.flatMap((apiServer): KubernetesRelease[] => {
    const { version } = apiServer;
    const kubeadm = programs.get(`kubeadm-${version}`);
    const components = nodeComponents.flatMap(({ name }): [string, string][] => {
      const path = programs.get(`${name}-${version}`);
      return path === undefined ? [] : [[name, path]];
    });
    return kubeadm === undefined ? [] : [{ version, apiServer, kubeadm, components: new Map(components) }];
  });
  const [older, newer] = [releases[0], releases.at(-1)];
  if (older === undefined || newer === undefined || older === newer) {
    return { problems: ['two versions are needed that there are a kube-apiserver and a kubeadm of'] };
  }
  return { etcd: live.assets.etcd, older, newer };
}
