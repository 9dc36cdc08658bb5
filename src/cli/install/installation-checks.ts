import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hostPathsOfPod } from '../serve/kube-apiserver-manifest.ts';
import { readServeInput } from '../serve/serve-input.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import type { ControlPlane } from './control-plane.ts';
import { InstallationRefused, type KubeadmNode, orRefuse } from './kubeadm-node.ts';
import { changesOf, hasTakenPort, type InstallationPlan } from './kubeadm-plan.ts';
import { rightsChanges } from './rights.ts';
import { routerPaths } from './router-files.ts';

export interface InstallationSite {
  readonly node: KubeadmNode;
  readonly controlPlane: () => Promise<ControlPlane>;
  readonly kubeconfig: string;
  readonly context: CommandContext;
  readonly say: (line: string) => Promise<void>;
  /** Milliseconds until what has been started, or ended, has to be so. */
  readonly timeout: number;
  readonly onlyStep: readonly StepName[];
  readonly skipStep: readonly StepName[];
}

/** In their order, as `kubeadm init phase` has its phases. */
export const stepNames = [
  'rights',
  'kubeconfig',
  'configuration',
  'kubeadm-patches',
  'kube-apiserver',
  'router',
  'service',
  'components',
] as const;
export type StepName = (typeof stepNames)[number];

/** Milliseconds between two looks at what has been started. */
const interval = 500;

/** @param reasonNot why it is not so yet @throws {InstallationRefused} with the last reason */
export async function waitUntil(
  { timeout, node: { clock } }: Pick<InstallationSite, 'timeout' | 'node'>,
  reasonNot: () => Promise<string | undefined>,
): Promise<void> {
  const giveUpAt = clock.now() + timeout;
  for (;;) {
    const reason = await reasonNot();
    if (reason === undefined) return;
    if (clock.now() > giveUpAt) {
      throw new InstallationRefused(`${reason} (waited ${Math.round(timeout / 1000)} s)`);
    }
    await clock.sleep(interval);
  }
}

/**
 * Before anything is changed.
 * @throws {InstallationRefused} with every reason
 */
export async function refuseUnlessPossible(
  plan: InstallationPlan,
  site: InstallationSite,
  controlPlane: ControlPlane,
): Promise<void> {
  // A router beside kube-apiserver takes nothing from anybody.
  const others = hasTakenPort(plan) ? await controlPlane.othersNotReady(plan.port) : [];
  const reasons = others.map((reason) => `${reason}: one node at a time, while all others are ready`);
  const isTaken = (port: number, flag: string) =>
    reasons.push(`something listens on ${port} already: give another with ${flag}`);
  if (plan.kubeApiServer !== undefined && (await site.node.isTaken(plan.kubeApiServerPort))) {
    isTaken(plan.kubeApiServerPort, '--kube-apiserver-port');
  }
  const isFirst = plan.router !== undefined && plan.router.before === undefined;
  if (isFirst && !hasTakenPort(plan) && (await site.node.isTaken(plan.routerPort))) {
    isTaken(plan.routerPort, '--port');
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
  if (planned.has(routerPaths.kubeconfig) || (await rightsChanges(controlPlane)).length > 0) {
    planned.set(routerPaths.kubeconfig, await node.read(kubeconfig));
  }
  const pod = planned.get(routerPaths.manifest) ?? (await node.read(routerPaths.manifest)) ?? '';
  const hostPath = orRefuse(routerPaths.manifest, () => hostPathsOfPod(pod));
  const readFile = (path: string) => {
    const onNode = hostPath(path);
    if (onNode === undefined)
      throw new Error(`the router's static pod does not mount it: copy it to /etc/mixed-version-proxy`);
    return planned.get(onNode) ?? node.readNow(onNode);
  };
  const given = {
    // The directory is made with the router: until then any folder that can be written to will do.
    flags: {
      'snapshot-file': [join(tmpdir(), 'snapshot')],
      config: [routerPaths.configuration],
    },
    issues: [],
  };
  const { config } = await readServeInput(given, { ...context, readFile }).catch((cause: unknown) => {
    if (!(cause instanceof CommandFailure)) throw cause;
    const lines = ['the router could not start with this configuration:', ...cause.lines];
    throw new InstallationRefused(lines.join('\n'), { cause });
  });
  const { port } = config.settings.serving;
  if (port !== plan.routerPort) {
    throw new InstallationRefused(
      `${routerPaths.configuration} has the router listen on ${port}: set serving.port to ${plan.routerPort} there`,
    );
  }
}
