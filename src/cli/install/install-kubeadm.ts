import { errorMessage } from '../../runtime/errors.ts';
import { kubeApiServerManifestPath } from '../serve/kube-apiserver-manifest.ts';
import type { ControlPlane } from './control-plane.ts';
import { diffText, type FileChange } from './file-change.ts';
import { heldText, InstallLease } from './install-lease.ts';
import {
  type InstallationSite,
  refuseUnlessPossible,
  type StepName,
  waitUntil,
} from './installation-checks.ts';
import { isMade, type Journal, planUndo, presentFiles, readJournal } from './journal.ts';
import { backupPrefix, InstallationRefused, type KubeadmNode, orRefuse } from './kubeadm-node.ts';
import {
  changesOf,
  hasTakenPort,
  type InstallationPlan,
  type InstallationWish,
  planInstallation,
} from './kubeadm-plan.ts';
import { moveKubeApiServer, securePortOf } from './move-kube-apiserver.ts';
import { componentBefore, nodeComponents } from './node-components.ts';
import { routerPaths, usedFiles } from './router-files.ts';
import { settleService } from './service-port.ts';
import { reasonNotStarted, routerOf, untilFree } from './started-pods.ts';
import {
  InstallationRun,
  type Step,
  stepsOf,
  takeBack,
  takeRights,
  untilKubeApiServerIsBack,
} from './steps.ts';

/** How long the cluster may be out of reach while a run holds its Lease: as long as it waits for one thing, and some to spare. */
const spareSeconds = 60;

function leaseOf({ timeout, say, node }: InstallationSite, controlPlane: ControlPlane): InstallLease {
  const durationSeconds = Math.ceil(timeout / 1000) + spareSeconds;
  return new InstallLease({
    cluster: controlPlane,
    node: controlPlane.ownAddress,
    durationSeconds,
    say,
    clock: node.clock,
  });
}

/**
 * The changes of `install`, step by step, as a diff of files and objects; empty when all is there.
 * @throws {InstallationRefused} where `install` would refuse before it changes anything
 */
export async function dryRunOfInstallation(wish: InstallationWish, site: InstallationSite): Promise<string> {
  const { plan, journal } = await planOf(wish, site.node);
  const controlPlane = await site.controlPlane();
  if (changesOf(plan).length === 0) {
    const reason = await reasonNotStarted(controlPlane, routerOf(plan));
    if (reason !== undefined) throw new InstallationRefused(reason);
  } else {
    const holder = await leaseOf(site, controlPlane).heldBy();
    if (holder !== undefined) throw new InstallationRefused(heldText(holder));
    await refuseUnlessPossible(plan, site, controlPlane);
  }
  const run = new InstallationRun(site, controlPlane, plan, journal);
  const texts: string[] = [];
  for (const step of chosen(stepsOf(run, plan.preparations), site)) {
    const text = diffText(await step.plan());
    if (text !== '') texts.push(`# step ${step.name}\n${text}`);
  }
  return texts.join('');
}

/** Changes of `install --undo`, as a diff; empty when nothing is installed. @throws {InstallationRefused} */
export async function dryRunOfUndo(site: InstallationSite): Promise<string> {
  const journal = await readJournal(site.node);
  if (journal === undefined) return '';
  // The Service's ports stay as they are where the cluster cannot be asked, as an installation leaves them.
  const ports = hasTakenPort(journal)
    ? await (await site.controlPlane()).servicePortChanges(journal.port).catch(() => [])
    : [];
  return diffText([...(await undoOf(journal, site.node)), ...ports]);
}

function isChosen(name: StepName, { onlyStep, skipStep }: InstallationSite): boolean {
  return (onlyStep.length === 0 || onlyStep.includes(name)) && !skipStep.includes(name);
}

function chosen(steps: readonly Step[], site: InstallationSite): readonly Step[] {
  return steps.filter(({ name }) => isChosen(name, site));
}

/**
 * Puts a router beside kube-apiserver, or moves that to its other port and puts the router on the one that clients know.
 * The steps of this run are taken back when one of them does not become ready.
 * @throws {InstallationRefused} when nothing has been changed, or everything has been put back
 */
export function install(wish: InstallationWish, site: InstallationSite): Promise<void> {
  return locked(site, () => installLocked(wish, site));
}

/** One run at a time on a node. */
async function locked({ node }: InstallationSite, work: () => Promise<void>): Promise<void> {
  const unlock = await node.lock();
  try {
    await work();
  } finally {
    await unlock();
  }
}

async function installLocked(wish: InstallationWish, site: InstallationSite): Promise<void> {
  const { plan, journal } = await planOf(wish, site.node);
  const controlPlane = await site.controlPlane();
  if (changesOf(plan).length === 0) {
    await waitUntil(site, () => reasonNotStarted(controlPlane, routerOf(plan)));
    await settleService(controlPlane, plan);
    await site.say(`nothing to do: the router is installed, and ready on ${plan.routerPort}`);
    return;
  }
  const lease = leaseOf(site, controlPlane);
  await lease.acquire().catch((cause: unknown) => {
    if (journal === undefined || !(cause instanceof InstallationRefused)) throw cause;
    const way = 'if a run was cut off here, install kubeadm --undo needs no API; then install again';
    throw new InstallationRefused(`${cause.message}: ${way}`, { cause });
  });
  try {
    await refuseUnlessPossible(plan, site, controlPlane);
    await runSteps(new InstallationRun(site, controlPlane, plan, journal), lease);
  } finally {
    await lease.release();
  }
}

async function runSteps(run: InstallationRun, lease: InstallLease): Promise<void> {
  const { site, controlPlane, plan } = run;
  const prepared = isChosen('kubeconfig', site)
    ? await withKubeconfig(plan.preparations, site.node, controlPlane)
    : plan.preparations;
  const untilRouterIsBack = await run.findRouter();
  const begun: Step[] = [];
  try {
    for (const step of chosen(stepsOf(run, prepared), site)) {
      if (await step.isDone()) continue;
      lease.requireHeld();
      if (begun.length === 0) await run.begin();
      begun.push(step);
      await step.do();
    }
  } catch (cause) {
    const reason = errorMessage(cause);
    await site.say(`failed: ${reason}`);
    await runBack(run, begun, untilRouterIsBack).catch((error: unknown) => {
      throw new InstallationRefused(
        `${reason}\nnot everything could be put back: ${errorMessage(error)}. See to it, then: install kubeadm --undo`,
        { cause: error },
      );
    });
    throw new InstallationRefused(`${reason}\neverything has been put back`, { cause });
  }
  await site.say(
    hasTakenPort(plan)
      ? `installed: the router is ready on ${plan.port}, kube-apiserver on ${plan.kubeApiServerPort}. From now on: kubeadm upgrade … --patches /etc/kubernetes/patches`
      : `installed: the router is ready on ${plan.routerPort}, beside kube-apiserver on ${plan.port}. Next: point the load balancer to port ${plan.routerPort} of this node, with a health check of HTTPS /readyz. The way back: point it to ${plan.port}, then run install kubeadm --undo`,
  );
}

async function runBack(
  run: InstallationRun,
  begun: readonly Step[],
  untilRouterIsBack: () => Promise<void>,
): Promise<void> {
  // The router leaves a port before kube-apiserver has it again, and has its own again only after that.
  for (const step of begun.toReversed()) await step.undo();
  if (begun.some(({ name }) => name === 'router' || name === 'kube-apiserver')) await untilRouterIsBack();
  await run.forget();
}

export function undo(site: InstallationSite): Promise<void> {
  return locked(site, () => undoLocked(site));
}

async function undoLocked(site: InstallationSite): Promise<void> {
  const journal = await readJournal(site.node);
  if (journal === undefined) {
    await site.say(`nothing to undo: the router is not installed, ${routerPaths.journal} does not exist`);
    return;
  }
  const controlPlane = await site.controlPlane();
  const lease = leaseOf(site, controlPlane);
  // The failed API server may be the only one: then no other node can begin either.
  const isReached = await lease.acquire().then(
    () => true,
    async (error: unknown) => {
      if ((await lease.heldBy().catch(() => undefined)) !== undefined) throw error;
      await site.say(`${errorMessage(error)}; going on without it`);
      return false;
    },
  );
  try {
    await putBack(journal, controlPlane, site);
    const rights = isReached ? await takeRights(controlPlane) : 'stay: the cluster could not be asked';
    const what = hasTakenPort(journal) ? '' : ` and nothing on ${journal.routerPort}`;
    await site.say(
      `removed: kube-apiserver is ready on ${journal.port}${what}. The rights of the routers' user ${rights}. Copies: ${backupPrefix}*`,
    );
  } finally {
    await lease.release();
  }
}

async function putBack(journal: Journal, controlPlane: ControlPlane, site: InstallationSite): Promise<void> {
  const { node } = site;
  const run = new Date();
  for (const change of await undoOf(journal, node)) {
    // The router ends its requests first; kube-apiserver cannot have the port before that.
    if (
      change.path === kubeApiServerManifestPath &&
      journal.files.some(({ path }) => path === routerPaths.manifest)
    ) {
      await untilFree(journal.port, site);
    }
    await takeBack(change, site, run);
  }
  if (!hasTakenPort(journal)) await untilFree(journal.routerPort, site);
  // Killed runs have left temporary files.
  for (const path of [routerPaths.journal, ...journal.files.map((file) => file.path)]) await node.tidy(path);
  await untilKubeApiServerIsBack(journal, controlPlane, site);
  await node.write({ path: routerPaths.journal, after: undefined, mode: 0o600 });
}

async function planOf(
  wish: InstallationWish,
  node: KubeadmNode,
): Promise<{ readonly plan: InstallationPlan; readonly journal: Journal | undefined }> {
  const journal = await readJournal(node);
  const files = await filesOf(node, journal);
  const kubeconfig = files.get(routerPaths.kubeconfig);
  const renews =
    kubeconfig !== undefined &&
    isMade(journal, routerPaths.kubeconfig, kubeconfig) &&
    (await isDueForRenewal(kubeconfig));
  const used = await usedOn(node, files.get(kubeApiServerManifestPath));
  return { plan: planInstallation(wish, files, { journal, renewsKubeconfig: renews, used }), journal };
}

async function usedOn(node: KubeadmNode, manifest: string | undefined): Promise<readonly string[]> {
  if (manifest === undefined) return [];
  let paths: readonly string[];
  try {
    paths = usedFiles(manifest);
  } catch {
    // The code that moves or reads kube-apiserver's port says what is wrong with the manifest.
    return [];
  }
  const present = paths.map(async (path) => ((await node.read(path)) === undefined ? [] : [path]));
  return (await Promise.all(present)).flat();
}

/** Past two thirds of its life. kubeadm renews it with none of its own: it is not in /etc/kubernetes. */
async function isDueForRenewal(text: string): Promise<boolean> {
  const { expiringCredentials } = await import('../../node/credentials/cluster-access.ts');
  // An unreadable kubeconfig is somebody else's to see to.
  const found = await expiringCredentials({ kubeconfig: routerPaths.kubeconfig, text }).catch(() => []);
  return found.some(({ notBefore, notAfter }) => Date.now() > notBefore + ((notAfter - notBefore) * 2) / 3);
}

/** The certificate is made before anything is changed: without the CA's key there is none. */
async function withKubeconfig(
  changes: readonly FileChange[],
  node: KubeadmNode,
  controlPlane: ControlPlane,
): Promise<readonly FileChange[]> {
  if (!changes.some(({ path }) => path === routerPaths.kubeconfig)) return changes;
  const after = await node.makeKubeconfig(await controlPlane.clusterConfiguration());
  return changes.map((change) => (change.path === routerPaths.kubeconfig ? { ...change, after } : change));
}

function filesOf(node: KubeadmNode, journal: Journal | undefined): Promise<ReadonlyMap<string, string>> {
  const { journal: _, ...own } = routerPaths;
  const ofComponents = nodeComponents.flatMap(({ kubeconfig, manifest }) => [kubeconfig, manifest]);
  return presentFiles([kubeApiServerManifestPath, ...Object.values(own), ...ofComponents], journal, node);
}

/**
 * A manifest of kube-apiserver that kubeadm has written anew since, as for another version, is kept, and moved back to
 * its port.
 */
async function undoOf(journal: Journal, node: KubeadmNode): Promise<readonly FileChange[]> {
  const changes = planUndo(journal, await filesOf(node, journal), (path, present, before) =>
    path === kubeApiServerManifestPath
      ? movedBack(present, before, journal.port)
      : componentBefore(path, present, before),
  );
  // Components leave the router before it goes, and have their kubeconfigs before they are started anew. The router leaves
  // the port first, also where it was there before kube-apiserver moved.
  const order = (wanted: readonly string[]) =>
    wanted.flatMap((path) => changes.filter((change) => change.path === path));
  const first = order([
    ...nodeComponents.flatMap(({ kubeconfig, manifest }) => [kubeconfig, manifest]),
    routerPaths.manifest,
  ]);
  return [...first, ...changes.filter((change) => !first.includes(change))];
}

/** Byte for byte what was there before, if it is still that which has been moved, be it once or several times. */
function movedBack(manifest: string, before: string, port: number): string {
  return orRefuse(kubeApiServerManifestPath, () =>
    moveKubeApiServer(before, securePortOf(manifest)) === manifest
      ? before
      : moveKubeApiServer(manifest, port),
  );
}
