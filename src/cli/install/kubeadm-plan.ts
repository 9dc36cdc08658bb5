import { kubeAdmManifest } from '../serve/kube-apiserver-manifest.ts';
import { changeTo, type FileChange } from './file-change.ts';
import { moveKubeApiServer, securePortOf } from './move-kube-apiserver.ts';
import { flagPatch, probePatch, routerConfiguration, routerManifest, routerPaths } from './router-files.ts';
import { InstallationRefused } from './wait-until.ts';

/** What is to be on the node. */
export interface InstallationWish {
  /** Image of the router; `undefined`: the one that the router's static pod has already. */
  readonly image: string | undefined;
  /** Where kube-apiserver goes. */
  readonly kubeApiServerPort: number;
}

/** Changes in the order in which they are made: kube-apiserver leaves its port before the router takes it. */
export interface InstallationPlan {
  /** The port that clients know: kube-apiserver's until now, the router's from now on. */
  readonly port: number;
  readonly preparations: readonly FileChange[];
  readonly kubeApiServer: FileChange | undefined;
  readonly router: FileChange | undefined;
}

/** Stands for the kubeconfig in a plan until kubeadm has made it. */
const kubeconfigToBeMade = '(made by kubeadm)\n';

/**
 * What has to change on a node of kubeadm. Pure.
 * @param files what is there, by path
 * @param installedPort the port that clients know, where an installation has recorded it
 * @param renewsKubeconfig the one that an installation made is near its end
 * @throws {InstallationRefused}
 */
export function planInstallation(
  { image, kubeApiServerPort }: InstallationWish,
  files: ReadonlyMap<string, string>,
  installedPort: number | undefined,
  renewsKubeconfig: boolean,
): InstallationPlan {
  const manifest = files.get(kubeAdmManifest);
  if (manifest === undefined) {
    throw new InstallationRefused(
      `${kubeAdmManifest} is not there: this is no control-plane node of kubeadm. Run it on one, as root`,
    );
  }
  const { present, moved } = movedManifest(manifest, kubeApiServerPort);
  const port = installedPort ?? present;
  if (port === kubeApiServerPort) {
    throw new InstallationRefused(
      `kube-apiserver listens on ${port} already, and nothing has recorded which port clients use: give another with --kube-apiserver-port, or move it back first`,
    );
  }
  /** Somebody's own, once it is there. */
  const made = (path: string, after: string, mode: number, isSecret?: boolean) =>
    files.has(path) ? [] : changeTo(files, path, after, mode, isSecret);
  const [router] = changeTo(files, routerPaths.manifest, manifestOf(image, files, port), 0o600);
  const [kubeApiServer] = changeTo(files, kubeAdmManifest, moved, 0o600);
  return {
    port,
    preparations: [
      ...(renewsKubeconfig
        ? changeTo(files, routerPaths.kubeconfig, kubeconfigToBeMade, 0o600, true)
        : made(routerPaths.kubeconfig, kubeconfigToBeMade, 0o600, true)),
      ...made(routerPaths.configuration, routerConfiguration(port), 0o644),
      ...changeTo(files, routerPaths.flagPatch, flagPatch(kubeApiServerPort), 0o644),
      ...changeTo(files, routerPaths.probePatch, probePatch(kubeApiServerPort), 0o644),
    ],
    kubeApiServer,
    router,
  };
}

/** Of a plan, in their order. */
export function changesOf({ preparations, kubeApiServer, router }: InstallationPlan): readonly FileChange[] {
  return [...preparations, kubeApiServer, router].filter((change) => change !== undefined);
}

function movedManifest(manifest: string, to: number): { readonly present: number; readonly moved: string } {
  try {
    return { present: securePortOf(manifest), moved: moveKubeApiServer(manifest, to) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new InstallationRefused(`${kubeAdmManifest} ${error.message}`, { cause: error });
  }
}

function manifestOf(image: string | undefined, files: ReadonlyMap<string, string>, port: number): string {
  const present = files.get(routerPaths.manifest);
  if (image !== undefined) return routerManifest(image, port);
  if (present !== undefined) return present;
  throw new InstallationRefused(
    'give --image: the image of the router, by digest, from a registry that this node reaches',
  );
}
