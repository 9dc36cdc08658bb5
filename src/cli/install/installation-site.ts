import type { CommandContext } from '../terminal/command-context.ts';
import type { ControlPlane } from './control-plane.ts';
import type { KubeadmNode } from './kubeadm-node.ts';
import type { Say } from './recorded-changes.ts';

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
