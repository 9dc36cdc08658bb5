import { isNode, parseDocument } from 'yaml';
import { isSameJson } from '../../runtime/same-json.ts';
import { kubeApiServerManifestPath, parseKubeApiServerManifest } from '../serve/kube-apiserver-manifest.ts';
import { changeTo, type FileChange } from './file-change.ts';
import type { Journal } from './journal.ts';
import { InstallationRefused, orRefuse } from './kubeadm-node.ts';
import { moveKubeApiServer, securePortOf } from './move-kube-apiserver.ts';
import { componentChanges, type NodeComponent, nodeComponents } from './node-components.ts';
import { flagPatch, probePatch, routerConfiguration, routerManifest, routerPaths } from './router-files.ts';

/** The router's own port where it leaves kube-apiserver its. */
const besidePort = 7443;

/** kube-apiserver's where the router takes its port. */
const movedPort = 6444;

export interface InstallationWish {
  /** Image of the router; `undefined`: the one that the router's static pod has already. */
  readonly image: string | undefined;
  /** True if the router takes the port that clients know. One that has it keeps it in any case. */
  readonly takesPort: boolean;
  /** True if the node's controller manager and scheduler come through the router. Those that do so go on. */
  readonly leadsComponents: boolean;
  /** The router's beside kube-apiserver; `undefined`: as it is installed, at first 7443. */
  readonly port: number | undefined;
  /** Where the router takes the port that clients know; `undefined`: where kube-apiserver has been moved to, at first 6444. */
  readonly kubeApiServerPort: number | undefined;
}

/** Changes in the order in which they are made: kube-apiserver leaves its port before the router takes it. */
export interface InstallationPlan {
  /** The port that clients know: kube-apiserver's until something was installed. */
  readonly port: number;
  readonly routerPort: number;
  readonly kubeApiServerPort: number;
  readonly preparations: readonly FileChange[];
  readonly kubeApiServer: FileChange | undefined;
  readonly router: FileChange | undefined;
  readonly components: readonly ComponentPlan[];
}

interface ComponentPlan {
  readonly component: NodeComponent;
  readonly changes: readonly FileChange[];
}

/** True if the router has the port that clients know. */
export function hasTakenPort({ port, routerPort }: Pick<InstallationPlan, 'port' | 'routerPort'>): boolean {
  return port === routerPort;
}

/** Stands for the kubeconfig in a plan until kubeadm has made it. */
const kubeconfigToBeMade = '(made by kubeadm)\n';

interface Installed {
  readonly journal: Journal | undefined;
  /** The kubeconfig that it made is near its end. */
  readonly renewsKubeconfig: boolean;
  /** Paths of `usedFiles` that are on the node. */
  readonly used: readonly string[];
}

/**
 * Changes that are needed on a node of kubeadm. Pure.
 * @param files what is there, by path
 * @throws {InstallationRefused}
 */
export function planInstallation(
  wish: InstallationWish,
  files: ReadonlyMap<string, string>,
  { journal, renewsKubeconfig, used }: Installed,
): InstallationPlan {
  const manifest = files.get(kubeApiServerManifestPath);
  if (manifest === undefined) {
    throw new InstallationRefused(
      `${kubeApiServerManifestPath} is not there: this is no control-plane node of kubeadm. Run it on one, as root`,
    );
  }
  const { port, takesPort, routerPort, kubeApiServerPort } = portsFor(wish, files, manifest, journal);
  const moved = orRefuse(kubeApiServerManifestPath, () => moveKubeApiServer(manifest, kubeApiServerPort));
  /** Somebody's own, once it is there. */
  const made = (path: string, after: string, mode: number, isSecret?: boolean) =>
    files.has(path) ? [] : changeTo(files, path, after, mode, isSecret);
  const [router] = changeTo(
    files,
    routerPaths.manifest,
    manifestOf(wish.image, files, routerPort, used),
    0o600,
  );
  const [kubeApiServer] = changeTo(files, kubeApiServerManifestPath, moved, 0o600);
  return {
    port,
    routerPort,
    kubeApiServerPort,
    preparations: [
      ...(renewsKubeconfig
        ? changeTo(files, routerPaths.kubeconfig, kubeconfigToBeMade, 0o600, true)
        : made(routerPaths.kubeconfig, kubeconfigToBeMade, 0o600, true)),
      ...changeTo(
        files,
        routerPaths.configuration,
        configurationOf(files.get(routerPaths.configuration), routerPort, journal),
        0o644,
      ),
      ...(takesPort
        ? [
            ...changeTo(files, routerPaths.flagPatch, flagPatch(kubeApiServerPort), 0o644),
            ...changeTo(files, routerPaths.probePatch, probePatch(kubeApiServerPort), 0o644),
          ]
        : []),
    ],
    kubeApiServer,
    router,
    components: leadsComponents(wish, journal) ? componentsFor(files, manifest, routerPort) : [],
  };
}

function leadsComponents({ leadsComponents }: InstallationWish, journal: Journal | undefined): boolean {
  const paths = nodeComponents.map(({ kubeconfig }): string => kubeconfig);
  return leadsComponents || (journal?.files ?? []).some(({ path }) => paths.includes(path));
}

function componentsFor(
  files: ReadonlyMap<string, string>,
  manifest: string,
  port: number,
): readonly ComponentPlan[] {
  const advertised = parseKubeApiServerManifest(manifest).flags.get('advertise-address');
  const addresses = ['127.0.0.1', 'localhost', ...(advertised === undefined ? [] : [advertised])];
  return nodeComponents.flatMap((component) => {
    const changes = componentChanges(component, files, { port, addresses });
    return changes.length === 0 ? [] : [{ component, changes }];
  });
}

interface Ports extends Pick<InstallationPlan, 'port' | 'routerPort' | 'kubeApiServerPort'> {
  readonly takesPort: boolean;
}

/** @throws {InstallationRefused} where two would listen on one port */
function portsFor(
  wish: InstallationWish,
  files: ReadonlyMap<string, string>,
  manifest: string,
  journal: Journal | undefined,
): Ports {
  const takesPort = wish.takesPort || (journal !== undefined && hasTakenPort(journal));
  const present = orRefuse(kubeApiServerManifestPath, () => securePortOf(manifest));
  const port = journal?.port ?? present;
  // Where it has been moved to: kubeadm may have written its manifest anew since.
  const patched = /--secure-port=(\d+)/.exec(files.get(routerPaths.flagPatch) ?? '')?.[1];
  const elsewhere = present === port ? Number(patched ?? movedPort) : present;
  const kubeApiServerPort = takesPort ? (wish.kubeApiServerPort ?? elsewhere) : present;
  const routerPort = takesPort ? port : (wish.port ?? journal?.routerPort ?? besidePort);
  if (takesPort && wish.port !== undefined) {
    throw new InstallationRefused(
      `--port is for a router beside kube-apiserver, and this one takes port ${port}: leave --port out, or --undo first`,
    );
  }
  if (takesPort && port === kubeApiServerPort) {
    throw new InstallationRefused(
      `kube-apiserver listens on ${port} already, and nothing has recorded which port clients use: give another with --kube-apiserver-port, or move it back first`,
    );
  }
  if (!takesPort && routerPort === present) {
    throw new InstallationRefused(
      `kube-apiserver listens on ${present}: give the router another port with --port, or that one with --take-port`,
    );
  }
  return { port, takesPort, routerPort, kubeApiServerPort };
}

export function changesOf(plan: InstallationPlan): readonly FileChange[] {
  const { preparations, kubeApiServer, router, components } = plan;
  const ofComponents = components.flatMap(({ changes }) => changes);
  return [...preparations, kubeApiServer, router, ...ofComponents].filter((change) => change !== undefined);
}

/** Somebody's own, once it is there, but for the port of one that an earlier run made. */
function configurationOf(present: string | undefined, port: number, journal: Journal | undefined): string {
  if (present === undefined) return routerConfiguration(port);
  const isMade = journal?.files.some(
    ({ path, before }) => path === routerPaths.configuration && before === null,
  );
  const before = parseDocument(present).getIn(['serving', 'port']);
  if (isMade !== true || before === port) return present;
  // As text, so that nothing else changes: the port stands on a line of its own in what was written first.
  const moved = present.replace(new RegExp(`^(\\s+port: )${before}$`, 'm'), `$1${port}`);
  if (parseDocument(moved).getIn(['serving', 'port']) === port) return moved;
  throw new InstallationRefused(
    `${routerPaths.configuration}: set serving.port to ${port} by hand, and install again`,
  );
}

function manifestOf(
  given: string | undefined,
  files: ReadonlyMap<string, string>,
  port: number,
  used: readonly string[],
): string {
  const present = files.get(routerPaths.manifest);
  const image = given ?? (present === undefined ? undefined : imageIn(present));
  if (image !== undefined) return withOwnSettings(routerManifest(image, port, used), present);
  throw new InstallationRefused(
    'give --image: the image of the router, by digest, from a registry that this node reaches',
  );
}

/** Settings that an operator may have made in the router's manifest (docs/guides/sizing.md, shutdown.md): they stay. */
const ownSettings = [
  ['spec', 'terminationGracePeriodSeconds'],
  ['spec', 'containers', 0, 'resources'],
  ['spec', 'containers', 0, 'env'],
] as const;

function withOwnSettings(made: string, present: string | undefined): string {
  if (present === undefined) return made;
  const [own, document] = [parseDocument(present), parseDocument(made)];
  const valueIn = (of: ReturnType<typeof parseDocument>, path: readonly (string | number)[]): unknown => {
    const node = of.getIn(path, true);
    return isNode(node) ? node.toJS(of) : node;
  };
  let isChanged = false;
  for (const path of ownSettings) {
    const value = valueIn(own, path);
    if (value === undefined || isSameJson(value, valueIn(document, path))) continue;
    document.setIn(path, value);
    isChanged = true;
  }
  return isChanged ? document.toString({ lineWidth: 0 }) : made;
}

function imageIn(manifest: string): string {
  const image = parseDocument(manifest).getIn(['spec', 'containers', 0, 'image']);
  if (typeof image === 'string') return image;
  throw new InstallationRefused(`${routerPaths.manifest} names no image: give --image`);
}
