import { freePort } from '../../../test/support/free-port.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { ControlPlane } from './control-plane.ts';
import { endOfLog, type LoggedProcess, startLoggedProcess } from './logged-process.ts';

export interface ControllerManagerOptions {
  /** Path of kube-controller-manager. */
  readonly binary: string;
  /** Kubeconfig of `system:kube-controller-manager`; it names the way into the cluster that is tried. */
  readonly kubeconfig: string;
  /** For its log. */
  readonly name?: string;
  readonly flags?: readonly string[];
}

/**
 * Starts kube-controller-manager as kubeadm does, but for nodes: nobody renews their Leases, so the controllers that
 * would find them dead are left out.
 */
export async function startControllerManager(
  { certificates, path }: Pick<ControlPlane, 'certificates' | 'path'>,
  { binary, kubeconfig, name = 'kube-controller-manager', flags = [] }: ControllerManagerOptions,
): Promise<LoggedProcess> {
  const process = await startLoggedProcess({
    name,
    command: binary,
    args: [
      `--kubeconfig=${kubeconfig}`,
      `--authentication-kubeconfig=${kubeconfig}`,
      `--authorization-kubeconfig=${kubeconfig}`,
      '--bind-address=127.0.0.1',
      `--secure-port=${await freePort()}`,
      '--leader-elect=false',
      '--use-service-account-credentials=true',
      `--service-account-private-key-file=${certificates.serviceAccount.privateKey}`,
      `--root-ca-file=${certificates.clusterCa}`,
      `--cluster-signing-cert-file=${certificates.clusterCa}`,
      `--cluster-signing-key-file=${certificates.clusterCaKey}`,
      '--controllers=*,-node-lifecycle-controller,-taint-eviction-controller',
      ...flags,
    ],
    logFile: path(`${name}.log`),
  });
  await waitUntil(`${name} has started its controllers`, () => {
    if (!process.isRunning()) throw new Error(endOfLog(process));
    return /"Caches are synced"|Caches are synced/.test(process.log());
  });
  return process;
}
