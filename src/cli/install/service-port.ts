import type { ControlPlane } from './control-plane.ts';
import { hasTakenPort, type InstallationPlan } from './kubeadm-plan.ts';

export async function settleService(controlPlane: ControlPlane, plan: InstallationPlan): Promise<void> {
  if (!hasTakenPort(plan)) return;
  const isEverywhere = await controlPlane.isReadyEverywhere(plan.kubeApiServerPort).catch(() => false);
  await leadService(controlPlane, isEverywhere ? plan.kubeApiServerPort : plan.port);
}

/**
 * Pods reach the API servers by the Service `default/kubernetes`, which has one port for all of them: the one of the
 * server that ended last (pkg/controlplane/reconcilers/lease.go: RemoveEndpoints resets it, the reconciliation of those
 * that run does not). Until all have moved it has to be the one that clients know: on each node somebody listens there.
 * The next installation does it where it cannot be done now.
 */
export async function leadService(controlPlane: ControlPlane, port: number): Promise<void> {
  await controlPlane.setServicePort(port).catch(() => {});
}
