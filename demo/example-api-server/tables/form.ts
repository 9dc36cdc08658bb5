/**
 * The form of the tables: what a Kubernetes version serves, as facts, one line per resource.
 *
 * Discovery, OpenAPI and routing are all made from these lines, so that no two documents can disagree.
 */

export type Scope = 'Namespaced' | 'Cluster';

/** Name, verbs, and the kind it speaks where that is not the resource's own; `groupVersion` likewise. */
export type SubresourceLine = readonly [name: string, verbs: string, kind?: string, groupVersion?: string];

export interface ResourceOptions {
  /** Separated by commas. */
  readonly shortNames?: string;
  /** Separated by commas. */
  readonly categories?: string;
  readonly subresources?: readonly SubresourceLine[];
}

export type ResourceLine = readonly [
  resource: string,
  kind: string,
  scope: Scope,
  verbs: string,
  options?: ResourceOptions,
];

/** Key: `v1` for core, `<group>/<version>` else. */
export type VersionTable = Readonly<Record<string, readonly ResourceLine[]>>;

/** What an ordinary stored resource allows. */
export const standard = 'create,delete,deletecollection,get,list,patch,update,watch';
/** What most subresources allow. */
export const readAndWrite = 'get,patch,update';
/** What subresources that pass a request on to a kubelet or a service allow. */
export const proxied = 'create,delete,get,patch,update';

export const status: SubresourceLine = ['status', readAndWrite];
export const scale: SubresourceLine = ['scale', readAndWrite, 'Scale', 'autoscaling/v1'];

/** Resources that extend the API itself. */
export const apiExtension: ResourceOptions = { categories: 'api-extensions' };
/** Workloads that can be scaled. */
export const workload = (shortName: string): ResourceOptions => ({
  shortNames: shortName,
  categories: 'all',
  subresources: [scale, status],
});

// The same in each of several versions of its group.
export const horizontalPodAutoscaler: ResourceLine = [
  'horizontalpodautoscalers',
  'HorizontalPodAutoscaler',
  'Namespaced',
  standard,
  { shortNames: 'hpa', categories: 'all', subresources: [status] },
];
export const flowControl: readonly ResourceLine[] = [
  ['flowschemas', 'FlowSchema', 'Cluster', standard, { subresources: [status] }],
  [
    'prioritylevelconfigurations',
    'PriorityLevelConfiguration',
    'Cluster',
    standard,
    { subresources: [status] },
  ],
];

export interface TableChanges {
  /** Group versions, `<group version>/<resource>` or `<group version>/<resource>/<subresource>`. */
  readonly without?: readonly string[];
  /** Group versions and resources that came; a resource that is there already is replaced. */
  readonly with?: VersionTable;
  /** Key: `<group version>/<resource>`. Subresources that came. */
  readonly withSubresources?: Readonly<Record<string, readonly SubresourceLine[]>>;
}

/** The table of a later version: that of an earlier one, with what went and what came. */
export function changedTable(base: VersionTable, changes: TableChanges): VersionTable {
  const gone = new Set(changes.without);
  const table: Record<string, readonly ResourceLine[]> = {};
  for (const [groupVersion, lines] of Object.entries(base)) {
    if (gone.delete(groupVersion)) continue;
    table[groupVersion] = lines
      .filter(([resource]) => !gone.delete(`${groupVersion}/${resource}`))
      .map((line) => changedLine(groupVersion, line, gone, changes.withSubresources ?? {}));
  }
  if (gone.size > 0) throw new Error(`not in the table that is changed: ${[...gone].join(', ')}`);
  for (const [groupVersion, lines] of Object.entries(changes.with ?? {})) {
    const names = new Set(lines.map(([resource]) => resource));
    const kept = (table[groupVersion] ?? []).filter(([resource]) => !names.has(resource));
    table[groupVersion] = [...kept, ...lines];
  }
  return table;
}

function changedLine(
  groupVersion: string,
  line: ResourceLine,
  gone: Set<string>,
  came: Readonly<Record<string, readonly SubresourceLine[]>>,
): ResourceLine {
  const [resource, kind, scope, verbs, options = {}] = line;
  const path = `${groupVersion}/${resource}`;
  const kept = (options.subresources ?? []).filter(([name]) => !gone.delete(`${path}/${name}`));
  const subresources = [...kept, ...(came[path] ?? [])];
  return [resource, kind, scope, verbs, { ...options, subresources }];
}
