import type { VersionTable } from './form.ts';
import { kubernetes125 } from './kubernetes-1.25.ts';
import { kubernetes126 } from './kubernetes-1.26.ts';
import { kubernetes136 } from './kubernetes-1.36.ts';

export type KubernetesVersionName = '1.25' | '1.26' | '1.36';

/** What else, besides its table, tells one version from another on the wire. */
export interface KubernetesVersion {
  readonly name: KubernetesVersionName;
  readonly gitVersion: string;
  readonly table: VersionTable;
  /**
   * Group versions whose objects it can read from the store: those that it serves, and those of older versions, which no
   * release forgets (Kubernetes deprecation policy, rule 4b).
   */
  readonly decodableVersions: ReadonlySet<string>;
  /** Versions of apidiscovery.k8s.io that `/api` and `/apis` can be asked for, best first. */
  readonly aggregatedDiscovery: readonly ('v2' | 'v2beta1')[];
  /** Discovery names the singular of each resource; older versions leave it empty. */
  readonly singularNames: boolean;
  /** Aggregated discovery says `freshness` … */
  readonly freshness: boolean;
  /** … and no longer prints an empty creation time (since 1.34). */
  readonly emptyCreationTimestamp: boolean;
  /** Watches know `sendInitialEvents` (since 1.27); list-options.ts says what becomes of it before. */
  readonly watchList: boolean;
  /** Label of the identity Lease. */
  readonly identityLabel: readonly [key: string, value: string];
}

const olderIdentityLabel = ['k8s.io/component', 'kube-apiserver'] as const;
const identityLabel = ['apiserver.kubernetes.io/identity', 'kube-apiserver'] as const;

function groupVersionsOf(...tables: readonly VersionTable[]): ReadonlySet<string> {
  return new Set(tables.flatMap((table) => Object.keys(table)));
}

export const kubernetesVersions: Readonly<Record<KubernetesVersionName, KubernetesVersion>> = {
  '1.25': {
    name: '1.25',
    gitVersion: 'v1.25.0',
    table: kubernetes125,
    decodableVersions: groupVersionsOf(kubernetes125),
    aggregatedDiscovery: [],
    singularNames: false,
    freshness: false,
    emptyCreationTimestamp: true,
    watchList: false,
    identityLabel: olderIdentityLabel,
  },
  '1.26': {
    name: '1.26',
    gitVersion: 'v1.26.0',
    table: kubernetes126,
    decodableVersions: groupVersionsOf(kubernetes125, kubernetes126),
    // Alpha in 1.26 and turned on here, as on the recorded server.
    aggregatedDiscovery: ['v2beta1'],
    singularNames: false,
    freshness: false,
    emptyCreationTimestamp: true,
    watchList: false,
    identityLabel: olderIdentityLabel,
  },
  '1.36': {
    name: '1.36',
    gitVersion: 'v1.36.0',
    table: kubernetes136,
    decodableVersions: groupVersionsOf(kubernetes125, kubernetes126, kubernetes136),
    // The beta form is gone (AggregatedDiscoveryRemoveBetaType).
    aggregatedDiscovery: ['v2'],
    singularNames: true,
    freshness: true,
    emptyCreationTimestamp: false,
    watchList: true,
    identityLabel,
  },
};
