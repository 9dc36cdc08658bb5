import { createHash } from 'node:crypto';

/** Version and flags that a kube-apiserver was started with. Two processes of one binary can behave as two versions. */
export interface Flavour {
  /** Minor version of the binary: 35 is 1.35. */
  readonly binary: number;
  /** `--emulated-version`. Default: that of the binary. */
  readonly emulated?: number;
  /** A feature gate that adds a field. */
  readonly gate?: boolean;
}

/** The version that it behaves as. */
export function levelOf({ binary, emulated }: Flavour): number {
  return emulated ?? binary;
}

export function nameOfFlavour({ binary, emulated, gate }: Flavour): string {
  const emulation = emulated === undefined ? '' : ` as 1.${emulated}`;
  return `1.${binary}${emulation}${gate === true ? ' with the gate' : ''}`;
}

export interface ResourceKind {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** Behaves so from this level on. */
  readonly since?: number;
  /** And no longer from this one on. */
  readonly until?: number;
  /** Field to the level that knows it first. `gate` knows `gated`. */
  readonly fields?: Readonly<Record<string, number>>;
}

const plain = (group: string, version: string, resource: string, kind: string, namespaced = true) => ({
  group,
  version,
  resource,
  kind,
  namespaced,
});

/** Resources that Kubernetes' servers serve here, of each sort one or two. */
export const builtIn: readonly ResourceKind[] = [
  plain('', 'v1', 'pods', 'Pod'),
  plain('', 'v1', 'namespaces', 'Namespace', false),
  plain('', 'v1', 'configmaps', 'ConfigMap'),
  { ...plain('apps', 'v1', 'deployments', 'Deployment'), fields: { newField: 36, newerField: 37 } },
  plain('batch', 'v1', 'jobs', 'Job'),
  plain('coordination.k8s.io', 'v1', 'leases', 'Lease'),
  plain('discovery.k8s.io', 'v1', 'endpointslices', 'EndpointSlice'),
  plain('apiregistration.k8s.io', 'v1', 'apiservices', 'APIService', false),
  plain('apiextensions.k8s.io', 'v1', 'customresourcedefinitions', 'CustomResourceDefinition', false),
  { ...plain('flowcontrol.apiserver.k8s.io', 'v1beta3', 'flowschemas', 'FlowSchema', false), until: 36 },
  { ...plain('resource.k8s.io', 'v1', 'resourceclaims', 'ResourceClaim'), since: 36 },
  {
    ...plain('admissionregistration.k8s.io', 'v1', 'mutatingadmissionpolicies', 'Policy', false),
    since: 36,
  },
];

export const widgets = plain('example.com', 'v1', 'widgets', 'Widget');

export function resourceKey({ group, resource }: Pick<ResourceKind, 'group' | 'resource'>): string {
  return `${resource}.${group}`;
}

export function pathOf({ group, version, resource, namespaced }: ResourceKind): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return `${root}${namespaced ? '/namespaces/default' : ''}/${resource}`;
}

function isServedAt({ since = 0, until = Number.POSITIVE_INFINITY }: ResourceKind, level: number): boolean {
  return level >= since && level < until;
}

/** The first level at which a policy is enforced that refuses objects with the field `forbidden`. */
export const policyLevel = 36;

export interface Answer {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: string;
}

const json = 'application/json';
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

export function answer(status: number, value: unknown, type = json, headers: readonly string[] = []): Answer {
  const body = typeof value === 'string' ? value : JSON.stringify(value);
  return { status, headers: ['content-type', type, ...headers], body };
}

/** Resources that one flavour of server serves, with all that it says of them. */
export interface Behaviour {
  readonly level: number;
  readonly kinds: ReadonlyMap<string, ResourceKind>;
  /** By target, some with their query. */
  readonly documents: ReadonlyMap<string, Answer>;
  knows(kind: ResourceKind, field: string): boolean;
}

const verbs = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];
const known = new Map<string, Behaviour>();

/** @param hasWidgets whether it has established the CustomResourceDefinition of widgets */
export function behaviourOf(flavour: Flavour, hasWidgets: boolean): Behaviour {
  const key = `${nameOfFlavour(flavour)} ${hasWidgets}`;
  const found = known.get(key) ?? newBehaviour(flavour, hasWidgets);
  known.set(key, found);
  return found;
}

function newBehaviour(flavour: Flavour, hasWidgets: boolean): Behaviour {
  const level = levelOf(flavour);
  const served = [...builtIn.filter((kind) => isServedAt(kind, level)), ...(hasWidgets ? [widgets] : [])];
  const knows = ({ fields = {} }: ResourceKind, field: string): boolean => {
    if (field === 'gated') return flavour.gate === true;
    return (fields[field] ?? 0) <= level;
  };
  return {
    level,
    kinds: new Map(served.map((kind) => [`${kind.group}/${kind.version}/${kind.resource}`, kind])),
    documents: documentsOf(flavour, served, knows),
    knows,
  };
}

function documentsOf(
  flavour: Flavour,
  served: readonly ResourceKind[],
  knows: Behaviour['knows'],
): ReadonlyMap<string, Answer> {
  const documents = new Map<string, Answer>();
  const tagged = (value: unknown, type = json): Answer => {
    const body = JSON.stringify(value);
    const etag = createHash('sha256').update(body).digest('hex').slice(0, 16);
    return answer(200, body, type, ['etag', `"${etag}"`]);
  };
  const { binary } = flavour;
  documents.set('/version', answer(200, versionOf(flavour, binary)));
  const groups = [...Map.groupBy(served, ({ group }) => group)].map(([group, kinds]) => ({
    metadata: group === '' ? {} : { name: group },
    versions: [...Map.groupBy(kinds, ({ version }) => version)].map(([version, resources]) => ({
      version,
      freshness: 'Current',
      resources: resources.map(({ resource, kind, namespaced }) => ({
        resource,
        responseKind: { group, version, kind },
        scope: namespaced ? 'Namespaced' : 'Cluster',
        singularResource: kind.toLowerCase(),
        verbs,
      })),
    })),
  }));
  const list = (items: unknown) => ({
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items,
  });
  documents.set(
    '/api',
    tagged(list(groups.filter(({ metadata }) => metadata.name === undefined)), aggregated),
  );
  documents.set(
    '/apis',
    tagged(list(groups.filter(({ metadata }) => metadata.name !== undefined)), aggregated),
  );
  const paths: Record<string, { serverRelativeURL: string }> = {};
  for (const [groupVersion, kinds] of Map.groupBy(served, ({ group, version }) =>
    group === '' ? version : `${group}/${version}`,
  )) {
    const path = groupVersion.includes('/') ? `apis/${groupVersion}` : `api/${groupVersion}`;
    const text = JSON.stringify(openApiOf(kinds, knows));
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 24).toUpperCase();
    const url = `/openapi/v3/${path}?hash=${hash}`;
    paths[path] = { serverRelativeURL: url };
    documents.set(url, answer(200, text));
    const resources = kinds.map(({ resource: name, kind, namespaced }) => ({
      name,
      singularName: '',
      namespaced,
      kind,
      verbs,
    }));
    documents.set(`/${path}`, answer(200, { kind: 'APIResourceList', groupVersion, resources }));
  }
  documents.set('/openapi/v3', tagged({ paths }));
  return documents;
}

function versionOf({ emulated = 0 }: Flavour, binary: number) {
  const emulation = emulated === 0 ? {} : { emulationMajor: '1', emulationMinor: String(emulated) };
  return { major: '1', minor: String(binary), ...emulation, gitVersion: `v1.${binary}.0` };
}

function openApiOf(kinds: readonly ResourceKind[], knows: Behaviour['knows']) {
  const schemas = kinds.map((kind) => {
    const { group, version, kind: name, fields = {} } = kind;
    const all = [...Object.keys(fields), ...(Object.keys(fields).length > 0 ? ['gated'] : [])];
    const own = all.filter((field) => knows(kind, field)).map((field) => [field, { type: 'string' }]);
    const properties = { spec: { type: 'string' }, ...Object.fromEntries(own) };
    return [
      `io.k8s.${name}`,
      { type: 'object', properties, 'x-kubernetes-group-version-kind': [{ group, version, kind: name }] },
    ];
  });
  return { openapi: '3.0.0', components: { schemas: Object.fromEntries(schemas) } };
}
