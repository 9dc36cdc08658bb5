import { errorMessage } from '../../runtime/error-message.ts';
import { kubeAdmManifest } from '../serve/kube-apiserver-manifest.ts';
import type { ControlPlane } from './control-plane.ts';
import { diffText, type FileChange } from './file-change.ts';
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
  /** Reached only when something is really done. */
  readonly controlPlane: () => Promise<ControlPlane>;
  readonly say: Say;
  /** Milliseconds until what has been started, or ended, has to be so. */
  readonly timeout: number;
}

/** What `install` would change, as a diff; empty when all is there. */
export async function diffOfInstallation(wish: InstallationWish, node: KubeadmNode): Promise<string> {
  return diffText(changesOf((await planOf(wish, node)).plan));
}

/** What `install --undo` would change, as a diff; empty when nothing is installed. */
export async function diffOfUndo(node: KubeadmNode): Promise<string> {
  const journal = await journalOf(node);
  return journal === undefined ? '' : diffText(await undoOf(journal, node));
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
  await refuseUnlessPossible(plan, wish, node, controlPlane);
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
  node: KubeadmNode,
  controlPlane: ControlPlane,
): Promise<void> {
  const reasons = (await controlPlane.othersNotReady(plan.port)).map(
    (reason) => `${reason}: one node at a time, while all others are ready`,
  );
  if (plan.kubeApiServer !== undefined && (await node.isTaken(kubeApiServerPort))) {
    reasons.push(
      `something listens on ${kubeApiServerPort} already: give another with --kube-apiserver-port`,
    );
  }
  if (reasons.length > 0) throw new InstallationRefused(reasons.join('\n'));
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
