import type { StorageKey } from './store.ts';
import type { ResourceLine, Scope, VersionTable } from './tables/form.ts';
import { type Priority, priorityOf } from './tables/priorities.ts';

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
  /** What it is stored as: the same for every version, and for events in both of their groups. */
  readonly storage: StorageKey;
}

export interface ServedGroupVersion {
  readonly group: string;
  readonly version: string;
  readonly groupVersion: string;
  readonly priority: Priority;
  readonly resources: readonly ServedResource[];
}

/** What one server serves at the moment. Group versions can be turned off and on, as by --runtime-config. */
export class ServedResources {
  readonly #all: ReadonlyMap<string, ServedGroupVersion>;
  readonly #off: Set<string>;
  readonly #listeners = new Set<() => void>();

  /** @throws {Error} when a group version to leave out is not in the table. */
  constructor(table: VersionTable, disabled: readonly string[] = [], unknownFields: SpecFields = {}) {
    const groupVersions = Object.entries(table).map(([name, lines]) =>
      servedGroupVersion(name, lines, unknownFields),
    );
    this.#all = new Map(groupVersions.sort(byPriority).map((one) => [one.groupVersion, one]));
    this.#off = new Set();
    for (const groupVersion of disabled) this.setGroupVersion(groupVersion, false);
  }

  /** In the order of discovery: groups by priority, then versions by priority. */
  groupVersions(): ServedGroupVersion[] {
    return [...this.#all.values()].filter(({ groupVersion }) => !this.#off.has(groupVersion));
  }

  groupVersion(group: string, version: string): ServedGroupVersion | undefined {
    const name = group === '' ? version : `${group}/${version}`;
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
  groupVersion: string,
  lines: readonly ResourceLine[],
  unknownFields: SpecFields,
): ServedGroupVersion {
  const [group, version] = splitGroupVersion(groupVersion);
  return {
    group,
    version,
    groupVersion,
    priority: priorityOf(group, version),
    resources: lines
      .map((line) => servedResource(group, version, line, unknownFields))
      // Discovery lists resources by name.
      .sort((left, right) => (left.resource < right.resource ? -1 : 1)),
  };
}

function servedResource(
  group: string,
  version: string,
  line: ResourceLine,
  unknownFields: SpecFields,
): ServedResource {
  const [resource, kind, scope, verbs, options = {}] = line;
  const groupVersion = group === '' ? version : `${group}/${version}`;
  return {
    group,
    version,
    groupVersion,
    resource,
    kind,
    scope,
    verbs: verbs.split(','),
    shortNames: list(options.shortNames),
    categories: list(options.categories),
    subresources: (options.subresources ?? [])
      .map(([name, subresourceVerbs, subresourceKind, kindGroupVersion = '']) => {
        const [kindGroup, kindVersion] = splitGroupVersion(kindGroupVersion);
        return {
          name,
          kind: subresourceKind ?? kind,
          kindGroup,
          kindVersion,
          verbs: subresourceVerbs.split(','),
        };
      })
      .sort((left, right) => (left.name < right.name ? -1 : 1)),
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

function list(text: string | undefined): readonly string[] {
  return text === undefined ? [] : text.split(',');
}
