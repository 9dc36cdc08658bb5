import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { hostPathsOfPod } from '../serve/kube-apiserver-manifest.ts';
import type { RawServeFlags } from '../serve/router-config.ts';
import { readServeInput } from '../serve/serve-input.ts';
import type { ReadTextFile } from '../settings/read-settings.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import type { ControlPlane } from './control-plane.ts';
import type { InstallationSite } from './installation-site.ts';
import { changesOf, hasTakenPort, type InstallationPlan } from './kubeadm-plan.ts';
import { routerPaths } from './router-files.ts';
import { InstallationRefused } from './wait-until.ts';

/**
 * Before anything is changed.
 * @param isInstalled whether an earlier run has changed something on the node
 * @throws {InstallationRefused} with every reason
 */
export async function refuseUnlessPossible(
  plan: InstallationPlan,
  site: InstallationSite,
  controlPlane: ControlPlane,
  isInstalled: boolean,
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
  await refuseUnlessRouterCanStart(plan, site, controlPlane, isInstalled);
}

/** Before kube-apiserver moves: a router that cannot start would cost the node its API until all is put back. */
async function refuseUnlessRouterCanStart(
  plan: InstallationPlan,
  { node, context, kubeconfig }: InstallationSite,
  controlPlane: ControlPlane,
  isInstalled: boolean,
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
    if (onNode === undefined)
      throw new Error(`the router's static pod does not mount it: copy it to /etc/mixed-version-proxy`);
    return planned.get(onNode) ?? node.readNow(onNode);
  };
  // A kube-apiserver that does not run, such as one that kubeadm has moved back onto the router's port, has no identity
  // Lease and no endpoint: a repeated run starts it, and the router waits for its ID.
  const router = { configuration: routerPaths.configuration, readFile, maySkipServerId: isInstalled };
  const { securePort } = await checkedConfiguration(router, context);
  if (securePort !== plan.routerPort) {
    throw new InstallationRefused(
      `${routerPaths.configuration} has the router listen on ${securePort}: set serving.port to ${plan.routerPort} there`,
    );
  }
}

function hostPathsOf(pod: string): (path: string) => string | undefined {
  try {
    return hostPathsOfPod(pod);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new InstallationRefused(`${routerPaths.manifest} ${cause.message}`, { cause });
  }
}

/** A router that is about to be installed. */
interface PlannedRouter {
  readonly configuration: string;
  /** Reads files as they will be. */
  readonly readFile: ReadTextFile;
  /** In the place of what the configuration has. Default: nothing. */
  readonly flags?: RawServeFlags;
  /** Whether the cluster need not tell the ID of the local server yet. Default: no. */
  readonly maySkipServerId?: boolean;
}

/** Checks a router as `serve --dry-run` does. Warnings are printed. @throws {InstallationRefused} with every error */
async function checkedConfiguration(
  { configuration, readFile, flags = {}, maySkipServerId = false }: PlannedRouter,
  context: CommandContext,
): Promise<ServeConfig> {
  const given = {
    // The directory is made with the router: until then any folder that can be written to will do.
    flags: {
      'snapshot-file': [join(tmpdir(), 'snapshot')],
      config: [configuration],
      'dry-run': ['true'],
      ...flags,
    },
    issues: [],
  };
  try {
    return (await readServeInput(given, { ...context, readFile }, { maySkipServerId })).config;
  } catch (cause) {
    if (!(cause instanceof CommandFailure)) throw cause;
    throw new InstallationRefused(
      ['the router could not start with this configuration:', ...cause.lines].join('\n'),
      { cause },
    );
  }
}
