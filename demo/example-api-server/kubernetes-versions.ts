import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

export type KubernetesVersionName = keyof typeof facts;

export type Scope = 'Namespaced' | 'Cluster';

/** Where APIServices of built-in groups stand in discovery: the higher, the further up. */
export interface Priority {
  readonly group: number;
  readonly version: number;
}

/** A kind; an empty group and version stand for those of the resource. */
interface ResponseKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** As aggregated discovery has it (APIResourceDiscovery). */
export interface RecordedResource {
  readonly resource: string;
  readonly responseKind: ResponseKind;
  readonly scope: Scope;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly {
    readonly subresource: string;
    readonly responseKind: ResponseKind;
    readonly verbs: readonly string[];
  }[];
}

/** Answers of a kube-apiserver of the version about what it serves. */
export interface Recording {
  readonly gitVersion: string;
  /** `groupPriorityMinimum` and `versionPriority` by group version. */
  readonly priorities: Readonly<Record<string, readonly [group: number, version: number]>>;
  /** Groups of aggregated discovery; core has no name. */
  readonly groups: readonly {
    readonly name?: string;
    readonly versions: readonly {
      readonly version: string;
      readonly resources: readonly RecordedResource[];
    }[];
  }[];
}

/** Resources of one group version, as a version serves them. */
export interface GroupVersionTable {
  readonly group: string;
  readonly version: string;
  readonly priority: Priority;
  readonly resources: readonly RecordedResource[];
}

/** Facts that tell one version from another on the wire, besides the resources. */
interface WireFacts {
  /** Group versions that are served only where they are turned on, as by --runtime-config. */
  readonly offByDefault: readonly string[];
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

export interface KubernetesVersion extends WireFacts {
  readonly name: KubernetesVersionName;
  readonly gitVersion: string;
  readonly table: readonly GroupVersionTable[];
  /**
   * Group versions whose objects it can read from the store: those that it serves, and those of older versions, which no
   * release forgets (Kubernetes deprecation policy, rule 4b).
   */
  readonly decodableVersions: ReadonlySet<string>;
}

const older: WireFacts = {
  offByDefault: [],
  aggregatedDiscovery: [],
  singularNames: false,
  freshness: false,
  emptyCreationTimestamp: true,
  watchList: false,
  identityLabel: ['k8s.io/component', 'kube-apiserver'],
};
const newer: WireFacts = {
  offByDefault: [],
  // The beta form is gone (AggregatedDiscoveryRemoveBetaType).
  aggregatedDiscovery: ['v2'],
  singularNames: true,
  freshness: true,
  emptyCreationTimestamp: false,
  watchList: true,
  identityLabel: ['apiserver.kubernetes.io/identity', 'kube-apiserver'],
};

/** The oldest first: each decodes what those before it serve. */
const facts = {
  '1.25': older,
  // Aggregated discovery is alpha in 1.26 and turned on here, as on the recorded server; so is SelfSubjectReview, so that
  // `kubectl auth whoami` shows who arrived.
  '1.26': { ...older, aggregatedDiscovery: ['v2beta1'] },
  // Workloads are alpha (KEP-4671): `--feature-gates=GenericWorkload=true --runtime-config=scheduling.k8s.io/v1alpha1=true`.
  '1.35': { ...newer, offByDefault: ['scheduling.k8s.io/v1alpha1'] },
  // They moved to v1alpha2, and v1alpha1 went.
  '1.36': { ...newer, offByDefault: ['scheduling.k8s.io/v1alpha2'] },
} satisfies Readonly<Record<string, WireFacts>>;

const names = Object.keys(facts) as readonly KubernetesVersionName[];

export const kubernetesVersions = Object.fromEntries(
  names.map((name, index) => [name, recordedVersion(name, names.slice(0, index))]),
) as Readonly<Record<KubernetesVersionName, KubernetesVersion>>;

function recordedVersion(
  name: KubernetesVersionName,
  before: readonly KubernetesVersionName[],
): KubernetesVersion {
  const { gitVersion } = recording(name);
  const decodable = [...before, name]
    .flatMap(tableOf)
    .map(({ group, version }) => groupVersionOf(group, version));
  return { ...facts[name], name, gitVersion, table: tableOf(name), decodableVersions: new Set(decodable) };
}

function recording(name: KubernetesVersionName): Recording {
  const file = new URL(`recorded/kubernetes-${name}.json.gz`, import.meta.url);
  return JSON.parse(gunzipSync(readFileSync(file)).toString());
}

function tableOf(name: KubernetesVersionName): readonly GroupVersionTable[] {
  const { groups, priorities } = recording(name);
  return groups.flatMap(({ name: group = '', versions }) =>
    versions.map(({ version, resources }) => {
      const [ofGroup, ofVersion] = priorities[groupVersionOf(group, version)] ?? [1000, 15];
      return { group, version, resources, priority: { group: ofGroup, version: ofVersion } };
    }),
  );
}

export function groupVersionOf(group: string, version: string): string {
  return group === '' ? version : `${group}/${version}`;
}
