import { errorMessage } from '../../runtime/errors.ts';
import { kubeAdmManifest } from '../serve/kube-apiserver-manifest.ts';
import type { ControlPlane, MirrorPod } from './control-plane.ts';
import { diffText, type FileChange, type TextChange } from './file-change.ts';
import { type InstallationSite, refuseUnlessPossible, waitUntil } from './installation-checks.ts';
import {
  isMade,
  type Journal,
  planUndo,
  presentFiles,
  readJournal,
  withChange,
  writeJournal,
} from './journal.ts';
import { InstallationRefused, type KubeadmNode, orRefuse } from './kubeadm-node.ts';
import {
  changesOf,
  hasTakenPort,
  type InstallationPlan,
  type InstallationWish,
  planInstallation,
} from './kubeadm-plan.ts';
import { moveKubeApiServer, securePortOf } from './move-kube-apiserver.ts';
import { routerPaths, usedFiles } from './router-files.ts';

/** An installation waits for two things, and for three more when it puts back. */
const turns = 5;

/**
 * What `install` would change, as a diff of files and objects in its order; empty when all is there.
 * @throws {InstallationRefused} where `install` would refuse before it changes anything
 */
export async function dryRunOfInstallation(wish: InstallationWish, site: InstallationSite): Promise<string> {
  const { plan, journal } = await planOf(wish, site.node);
  const controlPlane = await site.controlPlane();
  const ports = async () => {
    if (!hasTakenPort(plan)) return [];
    const isEverywhere = (await controlPlane.othersNotReady(plan.kubeApiServerPort)).length === 0;
    return servicePortChanges(controlPlane, isEverywhere ? plan.kubeApiServerPort : plan.port);
  };
  const changes = changesOf(plan);
  if (changes.length === 0) {
    const reason = await reasonNotStarted(controlPlane, routerOf(plan));
    if (reason !== undefined) throw new InstallationRefused(reason);
    return diffText(await ports());
  }
  const notItsTurn = await controlPlane.takeTurn(turns * site.timeout, true);
  if (notItsTurn !== undefined) throw new InstallationRefused(notItsTurn);
  await refuseUnlessPossible(plan, site, controlPlane, journal !== undefined);
  return diffText([...(await controlPlane.rightsChanges()), ...changes, ...(await ports())]);
}

/** What `install --undo` would change, as a diff; empty when nothing is installed. @throws {InstallationRefused} */
export async function dryRunOfUndo(site: InstallationSite): Promise<string> {
  const journal = await readJournal(site.node);
  if (journal === undefined) return '';
  const ports = hasTakenPort(journal)
    ? await servicePortChanges(await site.controlPlane(), journal.port)
    : [];
  return diffText([...(await undoOf(journal, site.node)), ...ports]);
}

/** Of a cluster that cannot be asked they are left, as an installation leaves them. */
function servicePortChanges(controlPlane: ControlPlane, port: number): Promise<readonly TextChange[]> {
  return controlPlane.servicePortChanges(port).catch(() => []);
}

/**
 * Puts a router beside kube-apiserver, or moves that to its other port and puts the router on the one that clients know.
 * All is put back when one of them does not become ready.
 * @throws {InstallationRefused} when nothing has been changed, or everything has been put back
 */
export async function install(wish: InstallationWish, site: InstallationSite): Promise<void> {
  const { node, say } = site;
  const { plan, journal } = await planOf(wish, node);
  const controlPlane = await site.controlPlane();
  if (changesOf(plan).length === 0) {
    await waitUntil(site.timeout, () => reasonNotStarted(controlPlane, routerOf(plan)));
    await settleService(controlPlane, plan);
    await say(`nothing to do: the router is installed, and ready on ${plan.routerPort}`);
    return;
  }
  const reason = await controlPlane.takeTurn(turns * site.timeout).catch((cause: unknown) => {
    if (journal === undefined || !(cause instanceof InstallationRefused)) throw cause;
    const way = 'if a run was cut off here, install kubeadm --undo needs no API; then install again';
    throw new InstallationRefused(`${cause.message}: ${way}`, { cause });
  });
  if (reason !== undefined) throw new InstallationRefused(reason);
  try {
    await installInTurn(site, plan, journal, controlPlane);
  } finally {
    await controlPlane.endTurn();
  }
}

function routerOf({ routerPort }: Pick<InstallationPlan, 'routerPort'>): AwaitedPod {
  return { name: 'mixed-version-proxy', port: routerPort };
}

async function installInTurn(
  site: InstallationSite,
  plan: InstallationPlan,
  journal: Journal | undefined,
  controlPlane: ControlPlane,
): Promise<void> {
  const { node, say } = site;
  await refuseUnlessPossible(plan, site, controlPlane, journal !== undefined);
  await controlPlane.grantRights();
  const preparations = await withKubeconfig(plan.preparations, node, controlPlane);
  const { port, routerPort } = plan;
  let recorded: Journal = { version: 1, port, routerPort, files: journal?.files ?? [] };
  const made: FileChange[] = [];
  /** Recorded first, so that a run that is cut off can be taken back. */
  const make = async (change: FileChange): Promise<void> => {
    recorded = withChange(recorded, change);
    await writeJournal(recorded, node);
    made.push(change);
    await node.write(change);
    await say(`written: ${change.path}`);
  };
  const start = async (pod: AwaitedPod, change: FileChange | undefined): Promise<void> => {
    if (change === undefined) return untilStarted(controlPlane, pod, site);
    const before = await controlPlane.mirrorOf(pod.name);
    await make(change);
    const isOfManifest = ({ hash }: MirrorPod) => hash !== before?.hash;
    await untilStarted(controlPlane, { ...pod, isOfManifest }, site);
  };
  const router = routerOf(plan);
  // On another port nobody else answers as the router. Its mirror comes with the kubelet's next look at the pod, after 60
  // to 90 s, where the kubelet's own way to the API is the port that is being taken.
  const isReplacing =
    plan.router?.before !== undefined && (journal?.routerPort ?? plan.routerPort) === plan.routerPort;
  const present = await controlPlane.mirrorOf(router.name);
  // A kube-apiserver that has to move although the router has its port was moved back by somebody: that is not what was.
  const isWhole = journal !== undefined && (plan.kubeApiServer === undefined || !hasTakenPort(journal));
  const worked = isWhole && (await controlPlane.notReady(journal.routerPort)) === undefined;
  try {
    for (const change of preparations) await make(change);
    await start({ name: 'kube-apiserver', port: plan.kubeApiServerPort }, plan.kubeApiServer);
    await start({ ...router, isReplacing }, plan.router);
  } catch (cause) {
    const reason = errorMessage(cause);
    await say(`failed: ${reason}`);
    const puttingBack = worked
      ? putBackRun(made, journal, present, controlPlane, site)
      : putBack(recorded, controlPlane, site);
    await puttingBack.catch((error: unknown) => {
      throw new InstallationRefused(
        `${reason}\nnot everything could be put back: ${errorMessage(error)}. See to it, then: install kubeadm --undo`,
        { cause: error },
      );
    });
    throw new InstallationRefused(`${reason}\neverything has been put back`, { cause });
  }
  await settleService(controlPlane, plan);
  await say(
    hasTakenPort(plan)
      ? `installed: the router is ready on ${port}, kube-apiserver on ${plan.kubeApiServerPort}. From now on: kubeadm upgrade … --patches /etc/kubernetes/patches`
      : `installed: the router is ready on ${plan.routerPort}, beside kube-apiserver on ${plan.port}. Next: point the load balancer to port ${plan.routerPort} of this node, with a health check of HTTPS /readyz. The way back: point it to ${plan.port}`,
  );
}

export async function undo(site: InstallationSite): Promise<void> {
  const journal = await readJournal(site.node);
  if (journal === undefined) {
    await site.say(`nothing to do: ${routerPaths.journal} is not there, so nothing is installed`);
    return;
  }
  const controlPlane = await site.controlPlane();
  // The failed API server may be the only one: then no other node can begin either.
  const reason = await controlPlane
    .takeTurn(turns * site.timeout)
    .catch((error: unknown) => site.say(`${errorMessage(error)}; going on without it`));
  if (typeof reason === 'string') throw new InstallationRefused(reason);
  try {
    await putBack(journal, controlPlane, site);
  } finally {
    await controlPlane.endTurn();
  }
  const what = hasTakenPort(journal) ? '' : ` and nothing on ${journal.routerPort}`;
  await site.say(
    `removed: kube-apiserver is ready on ${journal.port}${what}. The ClusterRoles, Roles and bindings mixed-version-proxy-reader, -monitor and -push stay for other nodes`,
  );
}

async function putBack(journal: Journal, controlPlane: ControlPlane, site: InstallationSite): Promise<void> {
  const { node } = site;
  for (const change of await undoOf(journal, node)) {
    // The router ends its requests first; kube-apiserver cannot have the port before that.
    if (change.path === kubeAdmManifest && journal.files.some(({ path }) => path === routerPaths.manifest)) {
      await untilFree(journal.port, site);
    }
    await takeBack(change, site);
  }
  if (!hasTakenPort(journal)) await untilFree(journal.routerPort, site);
  // What killed runs have left.
  for (const path of [routerPaths.journal, ...journal.files.map((file) => file.path)]) await node.tidy(path);
  await untilKubeApiServerIsBack(journal, controlPlane, site);
  await node.write({ path: routerPaths.journal, after: undefined, mode: 0o600 });
}

async function takeBack(change: FileChange, { node, say }: InstallationSite): Promise<void> {
  await node.write(change);
  await say(`${change.after === undefined ? 'removed' : 'put back'}: ${change.path}`);
}

async function untilFree(port: number, { node, say, timeout }: InstallationSite): Promise<void> {
  await say(`waiting until ${port} is free`);
  await waitUntil(timeout, async () =>
    (await node.isTaken(port)) ? `something still listens on ${port}` : undefined,
  );
}

async function untilKubeApiServerIsBack(
  journal: Journal,
  controlPlane: ControlPlane,
  { say, timeout }: InstallationSite,
): Promise<void> {
  await say(`waiting for kube-apiserver on ${journal.port}`);
  await waitUntil(timeout, async () => {
    const reason = await controlPlane.notReady(journal.port);
    // The one that ends leaves its port behind, and none that starts changes it.
    if (hasTakenPort(journal)) await leadService(controlPlane, journal.port);
    return reason;
  });
}

/**
 * What worked before this run gets its place back: what was there before the first run is older.
 * @param present the router's mirror before this run; `undefined` where the API did not tell: then its port alone does
 */
async function putBackRun(
  changes: readonly FileChange[],
  journal: Journal,
  present: MirrorPod | undefined,
  controlPlane: ControlPlane,
  site: InstallationSite,
): Promise<void> {
  for (const change of changes.toReversed()) {
    const moves = change.path === kubeAdmManifest;
    if (moves) await untilFree(journal.port, site);
    await takeBack({ ...change, before: change.after, after: change.before }, site);
    if (moves) await untilKubeApiServerIsBack({ ...journal, routerPort: journal.port }, controlPlane, site);
  }
  const router: AwaitedPod = {
    ...routerOf(journal),
    isReplacing: true,
    ...(present && { isOfManifest: ({ hash }: MirrorPod) => hash === present.hash }),
  };
  await untilStarted(controlPlane, router, site);
  await writeJournal(journal, site.node);
}

async function settleService(controlPlane: ControlPlane, plan: InstallationPlan): Promise<void> {
  if (!hasTakenPort(plan)) return;
  const isEverywhere = await controlPlane.isReadyEverywhere(plan.kubeApiServerPort).catch(() => false);
  await leadService(controlPlane, isEverywhere ? plan.kubeApiServerPort : plan.port);
}

/**
 * Pods reach the API servers by the Service `default/kubernetes`, which has one port for all of them: the one of the
 * server that ended last (pkg/controlplane/reconcilers/lease.go: RemoveEndpoints resets it, the reconciliation of those
 * that run does not). Until all have moved it has to be the one that clients know: on each node somebody listens there.
 * What cannot be done now is done by the next installation.
 */
async function leadService(controlPlane: ControlPlane, port: number): Promise<void> {
  await controlPlane.setServicePort(port).catch(() => {});
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
  const used = await usedOn(node, files.get(kubeAdmManifest));
  return { plan: planInstallation(wish, files, { journal, renewsKubeconfig: renews, used }), journal };
}

async function usedOn(node: KubeadmNode, manifest: string | undefined): Promise<readonly string[]> {
  if (manifest === undefined) return [];
  let paths: readonly string[];
  try {
    paths = usedFiles(manifest);
  } catch {
    // Whoever moves or reads kube-apiserver's port says what is wrong with it.
    return [];
  }
  const present = paths.map(async (path) => ((await node.read(path)) === undefined ? [] : [path]));
  return (await Promise.all(present)).flat();
}

/** Past two thirds of its life. kubeadm renews it with none of its own: it is not in /etc/kubernetes. */
async function isDueForRenewal(text: string): Promise<boolean> {
  const { expiringCredentials } = await import('../../node/credentials/cluster-access.ts');
  // What cannot be read is somebody else's to see to.
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
  return presentFiles([kubeAdmManifest, ...Object.values(own)], journal, node);
}

/** What kubeadm has written anew since, such as kube-apiserver in another version, is kept, and moved back to its port. */
async function undoOf(journal: Journal, node: KubeadmNode): Promise<readonly FileChange[]> {
  const changes = planUndo(journal, await filesOf(node, journal), (path, present, before) =>
    path === kubeAdmManifest ? movedBack(present, before, journal.port) : undefined,
  );
  // The router leaves the port first, also where it was there before kube-apiserver moved.
  const isRouter = ({ path }: FileChange) => path === routerPaths.manifest;
  return [...changes.filter(isRouter), ...changes.filter((change) => !isRouter(change))];
}

/** Byte for byte what was there before, if it is still that which has been moved, be it once or several times. */
function movedBack(manifest: string, before: string, port: number): string {
  return orRefuse(kubeAdmManifest, () =>
    moveKubeApiServer(before, securePortOf(manifest)) === manifest
      ? before
      : moveKubeApiServer(manifest, port),
  );
}

async function untilStarted(
  controlPlane: ControlPlane,
  pod: AwaitedPod,
  { say, timeout }: InstallationSite,
): Promise<void> {
  await say(`waiting for ${pod.name === 'kube-apiserver' ? pod.name : 'the router'} on ${pod.port}`);
  await waitUntil(timeout, () => reasonNotStarted(controlPlane, pod));
}

/** A static pod of the node that is waited for. */
interface AwaitedPod {
  readonly name: 'kube-apiserver' | 'mixed-version-proxy';
  readonly port: number;
  /** Whether a mirror is the one of the manifest that has been written. Absent: none has been. */
  readonly isOfManifest?: (mirror: MirrorPod) => boolean;
  /** Whether another pod answers on the port until the kubelet has ended it. Default: no. */
  readonly isReplacing?: boolean;
}

async function reasonNotStarted(
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
