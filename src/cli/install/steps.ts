import { errorMessage } from '../../runtime/errors.ts';
import type { ControlPlane, MirrorPod } from './control-plane.ts';
import type { FileChange, TextChange } from './file-change.ts';
import { type InstallationSite, type StepName, waitUntil } from './installation-checks.ts';
import { type Journal, withChange, writeJournal } from './journal.ts';
import { hasTakenPort, type InstallationPlan } from './kubeadm-plan.ts';
import { grantRights, rightsChanges, withdrawRights } from './rights.ts';
import { routerPaths } from './router-files.ts';
import { leadService, settleService } from './service-port.ts';
import { routerOf, untilFree, untilStarted, untilStartedAnew } from './started-pods.ts';

/** A part of an installation that can be left out, run alone, and taken back. */
export interface Step {
  readonly name: StepName;
  /** Nothing of it is left to be done: it is passed over. */
  isDone(): Promise<boolean>;
  /** The changes of the step, for a dry run. */
  plan(): Promise<readonly TextChange[]>;
  do(): Promise<void>;
  /** Takes back what `do` has done in this run, also where that was cut off. What is not there to be taken back is passed over. */
  undo(): Promise<void>;
}

/** One run of an installation: what its steps share. */
export class InstallationRun {
  readonly site: InstallationSite;
  readonly controlPlane: ControlPlane;
  readonly plan: InstallationPlan;
  /** As it was before this run. */
  readonly before: Journal | undefined;
  readonly startedAt = new Date();
  #journal: Journal;

  constructor(
    site: InstallationSite,
    controlPlane: ControlPlane,
    plan: InstallationPlan,
    before: Journal | undefined,
  ) {
    this.site = site;
    this.controlPlane = controlPlane;
    this.plan = plan;
    this.before = before;
    const { port, routerPort } = plan;
    this.#journal = { version: 1, port, routerPort, files: before?.files ?? [] };
  }

  /** The journal before everything, the rights too: without one --undo finds nothing that it could take back. */
  async begin(): Promise<void> {
    if (this.before === undefined) await writeJournal(this.#journal, this.site.node);
  }

  /** Recorded first, so that a run that is cut off can be taken back. */
  async make(change: FileChange): Promise<void> {
    this.#journal = withChange(this.#journal, change);
    await writeJournal(this.#journal, this.site.node);
    await replaceFile(change, this.site, this.startedAt);
    await this.site.say(`written: ${change.path}`);
  }

  async takeBack({ before, after, ...change }: FileChange): Promise<void> {
    await takeBack({ ...change, before: after, after: before }, this.site, this.startedAt);
  }

  /** @returns what waits, once the steps have been taken back, for the router that this run found; one that was not ready is not waited for: it is the usual reason to install another */
  async findRouter(): Promise<() => Promise<void>> {
    const { before, controlPlane, site } = this;
    if (before === undefined || (await controlPlane.notReady(before.routerPort)) !== undefined) {
      return async () => {};
    }
    const router = routerOf(before);
    const present = await controlPlane.mirrorOf(router.name);
    // Where the API did not tell of it, its port alone does.
    const isOfManifest = present && (({ hash }: MirrorPod) => hash === present.hash);
    const pod = { ...router, isReplacing: true, ...(isOfManifest && { isOfManifest }) };
    return () => untilStarted(controlPlane, pod, site);
  }

  /** Once all steps have been taken back. */
  async forget(): Promise<void> {
    const { node } = this.site;
    if (this.before !== undefined) return writeJournal(this.before, node);
    await node.write({ path: routerPaths.journal, after: undefined, mode: 0o600 });
  }
}

/** A file that somebody may have written stays as a copy. */
async function replaceFile(change: FileChange, { node }: InstallationSite, run: Date): Promise<void> {
  if (change.before !== undefined) await node.keep(change.path, change.before, run);
  await node.write(change);
}

export async function takeBack(change: FileChange, site: InstallationSite, run: Date): Promise<void> {
  await replaceFile(change, site, run);
  await site.say(`${change.after === undefined ? 'removed' : 'put back'}: ${change.path}`);
}

/** @param made the kubeconfig, whose certificate is made before anything is changed: without the CA's key there is none */
export function stepsOf(run: InstallationRun, made: readonly FileChange[]): readonly Step[] {
  const at = (...paths: readonly string[]) => made.filter(({ path }) => paths.includes(path));
  return [
    rightsStep(run),
    fileStep(run, 'kubeconfig', at(routerPaths.kubeconfig)),
    fileStep(run, 'configuration', at(routerPaths.configuration)),
    fileStep(run, 'kubeadm-patches', at(routerPaths.flagPatch, routerPaths.probePatch)),
    kubeApiServerStep(run),
    routerStep(run),
    serviceStep(run),
    componentsStep(run),
  ];
}

/** Rights that a node shares with others stay until the last one goes. @returns what became of the rights */
export async function takeRights(controlPlane: ControlPlane): Promise<string> {
  try {
    if (await controlPlane.isOnOtherNodes()) return 'stay for other nodes';
    await withdrawRights(controlPlane);
    return 'are taken back';
  } catch (error) {
    return `stay: ${errorMessage(error)}`;
  }
}

function rightsStep({ before, controlPlane }: InstallationRun): Step {
  return {
    name: 'rights',
    isDone: async () => (await rightsChanges(controlPlane)).length === 0,
    plan: () => rightsChanges(controlPlane),
    do: () => grantRights(controlPlane),
    // An installation of before needs them, and its --undo takes them away.
    async undo() {
      if (before === undefined) await takeRights(controlPlane);
    },
  };
}

function fileStep(run: InstallationRun, name: StepName, changes: readonly FileChange[]): Step {
  const done: FileChange[] = [];
  return {
    name,
    isDone: async () => changes.length === 0,
    plan: async () => changes,
    async do() {
      for (const change of changes) {
        done.push(change);
        await run.make(change);
      }
    },
    async undo() {
      for (const change of done.toReversed()) await run.takeBack(change);
    },
  };
}

/** The other mirror than before is the one of the manifest that has been written. */
const isOther = (before: MirrorPod | undefined) => (mirror: MirrorPod) => mirror.hash !== before?.hash;

function kubeApiServerStep(run: InstallationRun): Step {
  const { site, controlPlane, plan, before } = run;
  const change = plan.kubeApiServer;
  const files = fileStep(run, 'kube-apiserver', change === undefined ? [] : [change]);
  const pod = { name: 'kube-apiserver', port: plan.kubeApiServerPort } as const;
  let hasBegun = false;
  return {
    ...files,
    isDone: async () => change === undefined && (await controlPlane.notReady(pod.port)) === undefined,
    async do() {
      const mirror = await controlPlane.mirrorOf(pod.name);
      hasBegun = true;
      await files.do();
      await untilStarted(controlPlane, { ...pod, isOfManifest: isOther(mirror) }, site);
    },
    async undo() {
      if (!hasBegun || change === undefined) return;
      // A router that had the port before this run keeps it: then kube-apiserver could not listen there before either.
      const wasFree = before === undefined || !hasTakenPort(before);
      if (wasFree) await untilFree(plan.port, site);
      await files.undo();
      if (wasFree) await untilKubeApiServerIsBack(plan, controlPlane, site);
    },
  };
}

function routerStep(run: InstallationRun): Step {
  const { site, controlPlane, plan, before } = run;
  const change = plan.router;
  const files = fileStep(run, 'router', change === undefined ? [] : [change]);
  const router = routerOf(plan);
  // On another port nobody else answers as the router. Its mirror comes with the kubelet's next look at the pod, after 60
  // to 90 s, where the kubelet's own way to the API is the port that is being taken.
  const isReplacing =
    change?.before !== undefined && (before?.routerPort ?? plan.routerPort) === plan.routerPort;
  return {
    ...files,
    isDone: async () => change === undefined && (await controlPlane.notReady(router.port)) === undefined,
    async do() {
      const mirror = await controlPlane.mirrorOf(router.name);
      await files.do();
      await untilStarted(
        controlPlane,
        { ...router, isReplacing, ...(change && { isOfManifest: isOther(mirror) }) },
        site,
      );
    },
    async undo() {
      if (change === undefined) return;
      await files.undo();
      if (before === undefined && !hasTakenPort(plan)) return untilFree(plan.routerPort, site);
    },
  };
}

function serviceStep({ controlPlane, plan }: InstallationRun): Step {
  const wanted = () => settleService(controlPlane, plan);
  return {
    name: 'service',
    isDone: async () => !hasTakenPort(plan),
    async plan() {
      if (!hasTakenPort(plan)) return [];
      const isEverywhere = (await controlPlane.othersNotReady(plan.kubeApiServerPort)).length === 0;
      const port = isEverywhere ? plan.kubeApiServerPort : plan.port;
      // The Service's ports stay as they are where the cluster cannot be asked, as an installation leaves them.
      return controlPlane.servicePortChanges(port).catch(() => []);
    },
    do: wanted,
    undo: async () => {},
  };
}

/** One after the other: the kubeconfig, then the manifest by which the kubelet starts the component anew. */
function componentsStep(run: InstallationRun): Step {
  const { site, controlPlane, plan } = run;
  const each = plan.components.map(({ component, changes }) => ({
    name: component.name,
    files: fileStep(run, 'components', changes),
  }));
  return {
    name: 'components',
    isDone: async () => each.length === 0,
    plan: async () => plan.components.flatMap(({ changes }) => changes),
    async do() {
      for (const { name, files } of each) {
        const before = await controlPlane.mirrorOf(name);
        await files.do();
        await untilStartedAnew(controlPlane, name, isOther(before), site);
      }
    },
    async undo() {
      for (const { files } of each.toReversed()) await files.undo();
    },
  };
}

export async function untilKubeApiServerIsBack(
  { port, routerPort }: Pick<Journal, 'port' | 'routerPort'>,
  controlPlane: ControlPlane,
  site: InstallationSite,
): Promise<void> {
  await site.say(`waiting for kube-apiserver on ${port}`);
  await waitUntil(site, async () => {
    const reason = await controlPlane.notReady(port);
    // The one that ends leaves its port behind, and none that starts changes it.
    if (port === routerPort) await leadService(controlPlane, port);
    return reason;
  });
}
