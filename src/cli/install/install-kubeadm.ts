import { errorMessage } from '../../runtime/error-message.ts';
import { hostPathsOfPod, kubeAdmManifest } from '../serve/kube-apiserver-manifest.ts';
import type { CommandContext } from '../terminal/command-context.ts';
import { checkedConfiguration } from './checked-configuration.ts';
import type { ControlPlane } from './control-plane.ts';
import { diffText, type FileChange, type TextChange } from './file-change.ts';
import { type Journal, planUndo, presentFiles, readJournal } from './journal.ts';
import type { KubeadmNode } from './kubeadm-node.ts';
import { changesOf, type InstallationPlan, type InstallationWish, planInstallation } from './kubeadm-plan.ts';
import { moveKubeApiServer } from './move-kube-apiserver.ts';
import { recordedChanges, refuseAndPutBack, type Say, takeBackChange, tidyUp } from './recorded-changes.ts';
import { routerPaths } from './router-files.ts';
import { InstallationRefused, waitUntil } from './wait-until.ts';

/** An installation waits for two things, and for three more when it puts back. */
const turns = 5;

/** What an installation works on. */
export interface InstallationSite {
  readonly node: KubeadmNode;
  readonly controlPlane: () => Promise<ControlPlane>;
  /** Path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  readonly context: CommandContext;
  readonly say: Say;
  /** Milliseconds until what has been started, or ended, has to be so. */
  readonly timeout: number;
}

/**
 * What `install` would change, as a diff of files and objects in its order; empty when all is there.
 * @throws {InstallationRefused} where `install` would refuse before it changes anything
 */
export async function dryRunOfInstallation(wish: InstallationWish, site: InstallationSite): Promise<string> {
  const { plan } = await planOf(wish, site.node);
  const controlPlane = await site.controlPlane();
  const ports = async () => {
    const isEverywhere = (await controlPlane.othersNotReady(wish.kubeApiServerPort)).length === 0;
    return servicePortChanges(controlPlane, isEverywhere ? wish.kubeApiServerPort : plan.port);
  };
  const changes = changesOf(plan);
  if (changes.length === 0) {
    const reason = await controlPlane.notReady(plan.port);
    if (reason !== undefined) throw new InstallationRefused(reason);
    return diffText(await ports());
  }
  const turn = await controlPlane.turnChange(turns * site.timeout);
  await refuseUnlessPossible(plan, wish, site, controlPlane);
  return diffText([turn, ...(await controlPlane.rightsChanges()), ...changes, ...(await ports())]);
}

/** What `install --undo` would change, as a diff; empty when nothing is installed. @throws {InstallationRefused} */
export async function dryRunOfUndo(site: InstallationSite): Promise<string> {
  const journal = await journalOf(site.node);
  if (journal === undefined) return '';
  const ports = await servicePortChanges(await site.controlPlane(), journal.port);
  return diffText([...(await undoOf(journal, site.node)), ...ports]);
}

/** Of a cluster that cannot be asked they are left, as an installation leaves them. */
function servicePortChanges(controlPlane: ControlPlane, port: number): Promise<readonly TextChange[]> {
  return controlPlane.servicePortChanges(port).catch(() => []);
}

/**
 * Moves kube-apiserver to its other port and puts a router on the one that clients know. All is put back when one of
 * them does not become ready.
 * @throws {InstallationRefused} when nothing has been changed, or everything has been put back
 */
export async function install(wish: InstallationWish, site: InstallationSite): Promise<void> {
  const { node, say } = site;
  const { plan, journal } = await planOf(wish, node);
  const controlPlane = await site.controlPlane();
  if (changesOf(plan).length === 0) {
    await waitUntilReady(controlPlane, plan.port, site.timeout);
    await settleService(controlPlane, wish, plan);
    await say(`nothing to do: the router is installed, and ready on ${plan.port}`);
    return;
  }
  const reason = await controlPlane.takeTurn(turns * site.timeout);
  if (reason !== undefined) throw new InstallationRefused(reason);
  try {
    await installInTurn(wish, site, plan, journal, controlPlane);
  } finally {
    await controlPlane.endTurn();
  }
}

async function installInTurn(
  wish: InstallationWish,
  site: InstallationSite,
  plan: InstallationPlan,
  journal: Journal | undefined,
  controlPlane: ControlPlane,
): Promise<void> {
  const { node, say } = site;
  await refuseUnlessPossible(plan, wish, site, controlPlane);
  await controlPlane.grantRights();
  const preparations = await withKubeconfig(plan.preparations, node, controlPlane);
  const start: Journal = journal ?? { version: 1, port: plan.port, files: [] };
  const recorded = recordedChanges(routerPaths.journal, start, node, say);
  try {
    for (const change of preparations) await recorded.make(change);
    if (plan.kubeApiServer !== undefined) await recorded.make(plan.kubeApiServer);
    await say(`waiting for kube-apiserver on ${wish.kubeApiServerPort}`);
    await waitUntilReady(controlPlane, wish.kubeApiServerPort, site.timeout);
    if (plan.router !== undefined) await recorded.make(plan.router);
    await say(`waiting for the router on ${plan.port}`);
    await waitUntilReady(controlPlane, plan.port, site.timeout);
  } catch (cause) {
    await refuseAndPutBack(
      cause,
      () => putBack(recorded.journal(), controlPlane, site),
      'install kubeadm --undo',
      say,
    );
  }
  await settleService(controlPlane, wish, plan);
  await say(
    `installed: the router is ready on ${plan.port}, kube-apiserver on ${wish.kubeApiServerPort}. From now on: kubeadm upgrade … --patches /etc/kubernetes/patches`,
  );
}

/** Takes an installation back. @throws {InstallationRefused} */
export async function undo(site: InstallationSite): Promise<void> {
  const journal = await journalOf(site.node);
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
  await site.say(
    `removed: kube-apiserver is ready on ${journal.port}. The ClusterRole, Roles and bindings mixed-version-proxy-router stay for other nodes`,
  );
}

async function putBack(
  journal: Journal,
  controlPlane: ControlPlane,
  { node, say, timeout }: InstallationSite,
): Promise<void> {
  for (const change of await undoOf(journal, node)) {
    // The router ends its requests first; kube-apiserver cannot have the port before that.
    if (change.path === kubeAdmManifest && journal.files.some(({ path }) => path === routerPaths.manifest)) {
      await say(`waiting until ${journal.port} is free`);
      await waitUntil(timeout, async () =>
        (await node.isTaken(journal.port)) ? `something still listens on ${journal.port}` : undefined,
      );
    }
    await takeBackChange(change, node, say);
  }
  await tidyUp(routerPaths.journal, journal, node);
  await say(`waiting for kube-apiserver on ${journal.port}`);
  await waitUntil(timeout, async () => {
    const reason = await controlPlane.notReady(journal.port);
    // The one that ends leaves its port behind, and none that starts changes it.
    await leadService(controlPlane, journal.port);
    return reason;
  });
  await node.write({ path: routerPaths.journal, after: undefined, mode: 0o600 });
}

async function settleService(
  controlPlane: ControlPlane,
  { kubeApiServerPort }: InstallationWish,
  { port }: InstallationPlan,
): Promise<void> {
  const isEverywhere = await controlPlane.isReadyEverywhere(kubeApiServerPort).catch(() => false);
  await leadService(controlPlane, isEverywhere ? kubeApiServerPort : port);
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
  const journal = await journalOf(node);
  return { plan: planInstallation(wish, await filesOf(node, journal), journal?.port), journal };
}

async function refuseUnlessPossible(
  plan: InstallationPlan,
  { kubeApiServerPort }: InstallationWish,
  site: InstallationSite,
  controlPlane: ControlPlane,
): Promise<void> {
  const reasons = (await controlPlane.othersNotReady(plan.port)).map(
    (reason) => `${reason}: one node at a time, while all others are ready`,
  );
  if (plan.kubeApiServer !== undefined && (await site.node.isTaken(kubeApiServerPort))) {
    reasons.push(
      `something listens on ${kubeApiServerPort} already: give another with --kube-apiserver-port`,
    );
  }
  if (reasons.length > 0) throw new InstallationRefused(reasons.join('\n'));
  await refuseUnlessRouterCanStart(plan, site, controlPlane);
}

/** Before kube-apiserver moves: a router that cannot start would cost the node its API until all is put back. */
async function refuseUnlessRouterCanStart(
  plan: InstallationPlan,
  { node, context, kubeconfig }: InstallationSite,
  controlPlane: ControlPlane,
): Promise<void> {
  const planned = new Map(changesOf(plan).map(({ path, after }) => [path, after]));
  // The router's own is made later, or may read nothing yet: until then the administrator's asks the same cluster.
  if (planned.has(routerPaths.kubeconfig) || (await controlPlane.rightsChanges()).length > 0) {
    planned.set(routerPaths.kubeconfig, await node.read(kubeconfig));
  }
  const pod = planned.get(routerPaths.manifest) ?? (await node.read(routerPaths.manifest)) ?? '';
  const hostPath = hostPathsOf(pod);
  const readFile = (path: string) => {
    const onNode = hostPath(path);
    if (onNode === undefined) throw new Error(`${routerPaths.manifest} does not mount it`);
    return planned.get(onNode) ?? node.readNow(onNode);
  };
  await checkedConfiguration({ configuration: routerPaths.configuration, readFile }, context);
}

function hostPathsOf(pod: string): (path: string) => string | undefined {
  try {
    return hostPathsOfPod(pod);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new InstallationRefused(`${routerPaths.manifest} ${cause.message}`, { cause });
  }
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

function journalOf(node: KubeadmNode): Promise<Journal | undefined> {
  return readJournal(routerPaths.journal, node);
}

function filesOf(node: KubeadmNode, journal: Journal | undefined): Promise<ReadonlyMap<string, string>> {
  const { journal: _, ...own } = routerPaths;
  return presentFiles([kubeAdmManifest, ...Object.values(own)], journal, node);
}

/** What kubeadm has written anew since, such as kube-apiserver in another version, is kept, and moved back to its port. */
async function undoOf(journal: Journal, node: KubeadmNode): Promise<readonly FileChange[]> {
  return planUndo(journal, await filesOf(node, journal), (path, present) =>
    path === kubeAdmManifest ? movedBack(present, journal.port) : undefined,
  );
}

function movedBack(manifest: string, port: number): string {
  try {
    return moveKubeApiServer(manifest, port);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new InstallationRefused(`${kubeAdmManifest} ${cause.message}`, { cause });
  }
}

function waitUntilReady(controlPlane: ControlPlane, port: number, timeout: number): Promise<void> {
  return waitUntil(timeout, () => controlPlane.notReady(port));
}
