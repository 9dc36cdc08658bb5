import {
  type GroupVersionTable,
  groupVersionOf,
  type Priority,
  type RecordedResource,
  type Scope,
} from './kubernetes-versions.ts';
import type { StorageKey } from './store.ts';

/** Fields of `spec`, all of them text, by group version and kind (`apps/v1/Deployment`). */
export type SpecFields = Readonly<Record<string, readonly string[]>>;

export interface ServedSubresource {
  readonly name: string;
  readonly kind: string;
  /** Empty when the kind is of the resource's own group version. */
  readonly kindGroup: string;
  readonly kindVersion: string;
  readonly verbs: readonly string[];
}

/** One resource in one version, as one server serves it. */
export interface ServedResource {
  readonly group: string;
  readonly version: string;
  /** `v1` or `<group>/<version>`. */
  readonly groupVersion: string;
  readonly resource: string;
  readonly kind: string;
  readonly scope: Scope;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly ServedSubresource[];
  /** Fields of `spec` that this server does not know, though servers of later versions do. */
  readonly unknownFields: readonly string[];
  /** Key in the store: the same for every version, and for events in both of their groups. */
  readonly storage: StorageKey;
}

export interface ServedGroupVersion {
  readonly group: string;
  readonly version: string;
  readonly groupVersion: string;
  readonly priority: Priority;
  readonly resources: readonly ServedResource[];
}

/** Resources that one server serves at the moment. Group versions can be turned off and on, as by --runtime-config. */
export class ServedResources {
  readonly #all: ReadonlyMap<string, ServedGroupVersion>;
  readonly #off: Set<string>;
  readonly #listeners = new Set<() => void>();

  /** @throws {Error} when a group version to leave out is not in the table. */
  constructor(
    table: readonly GroupVersionTable[],
    disabled: readonly string[] = [],
    unknownFields: SpecFields = {},
  ) {
    const groupVersions = table.map((groupVersion) => servedGroupVersion(groupVersion, unknownFields));
    this.#all = new Map(groupVersions.sort(byPriority).map((one) => [one.groupVersion, one]));
    this.#off = new Set();
    for (const groupVersion of disabled) this.setGroupVersion(groupVersion, false);
  }

  /** In the order of discovery: groups by priority, then versions by priority. */
  groupVersions(): ServedGroupVersion[] {
    return [...this.#all.values()].filter(({ groupVersion }) => !this.#off.has(groupVersion));
  }

  groupVersion(group: string, version: string): ServedGroupVersion | undefined {
    const name = groupVersionOf(group, version);
    return this.#off.has(name) ? undefined : this.#all.get(name);
  }

  find(group: string, version: string, resource: string): ServedResource | undefined {
    return this.groupVersion(group, version)?.resources.find((served) => served.resource === resource);
  }

  /** @throws {Error} when the version of Kubernetes does not know the group version at all. */
  setGroupVersion(groupVersion: string, on: boolean): void {
    if (!this.#all.has(groupVersion)) {
      const known = [...this.#all.keys()].join(', ');
      throw new Error(`group version ${groupVersion} is not in the table; there are ${known}`);
    }
    if (on) this.#off.delete(groupVersion);
    else this.#off.add(groupVersion);
    for (const listener of [...this.#listeners]) listener();
  }

  /** Calls `listener` whenever a group version was turned on or off, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}

function servedGroupVersion(
  { group, version, priority, resources }: GroupVersionTable,
  unknownFields: SpecFields,
): ServedGroupVersion {
  return {
    group,
    version,
    groupVersion: groupVersionOf(group, version),
    priority,
    resources: resources.map((recorded) => servedResource(group, version, recorded, unknownFields)),
  };
}

function servedResource(
  group: string,
  version: string,
  { resource, responseKind: { kind }, scope, verbs, ...rest }: RecordedResource,
  unknownFields: SpecFields,
): ServedResource {
  const { shortNames = [], categories = [], subresources = [] } = rest;
  const groupVersion = groupVersionOf(group, version);
  return {
    group,
    version,
    groupVersion,
    resource,
    kind,
    scope,
    verbs,
    shortNames,
    categories,
    subresources: subresources.map(({ subresource, responseKind, verbs: those }) => ({
      name: subresource,
      kind: responseKind.kind,
      kindGroup: responseKind.group,
      kindVersion: responseKind.version,
      verbs: those,
    })),
    unknownFields: unknownFields[`${groupVersion}/${kind}`] ?? [],
    // Events of core and of events.k8s.io are the same objects in etcd.
    storage: { group: group === 'events.k8s.io' ? '' : group, resource },
  };
}

export function splitGroupVersion(groupVersion: string): readonly [group: string, version: string] {
  const slash = groupVersion.indexOf('/');
  return slash === -1 ? ['', groupVersion] : [groupVersion.slice(0, slash), groupVersion.slice(slash + 1)];
}

interface Ordered {
  readonly group: string;
  readonly priority: Priority;
}

/** Highest group priority first, then by name of the group; within it highest version priority first. */
export function byPriority(left: Ordered, right: Ordered): number {
  if (left.priority.group !== right.priority.group) return right.priority.group - left.priority.group;
  if (left.group !== right.group) return left.group < right.group ? -1 : 1;
  return right.priority.version - left.priority.version;
}
