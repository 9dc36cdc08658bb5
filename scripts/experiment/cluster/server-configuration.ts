import type { DemoCertificates } from '../../../demo/certificates.ts';
import type { KubernetesVersionName } from '../../../demo/example-api-server/index.ts';

/** What a server process is started with. */
export interface ServerProcessConfiguration {
  readonly version: KubernetesVersionName;
  readonly name: string;
  /** 0: any free one. */
  readonly port: number;
  readonly certificates: DemoCertificates;
  /** Milliseconds between the bookmarks of a watch. */
  readonly bookmarkInterval: number;
}

/** What SIGUSR2 turns off in a server, and on again: every version has it, and no client uses it. */
export const toggledGroupVersion = 'autoscaling/v1';
