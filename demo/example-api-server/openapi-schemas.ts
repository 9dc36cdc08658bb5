import { isJsonObject, type JsonObject } from './kubernetes-object.ts';
import type { ServedGroupVersion, ServedResource, SpecFields } from './served-resources.ts';

/** Named object schemas, as both OpenAPI versions have them; `prefix` is where references point. */
export function schemasOf(
  { resources }: ServedGroupVersion,
  prefix: string,
  addedFields: SpecFields,
): Record<string, JsonObject> {
  const schemas: Record<string, JsonObject> = {
    [objectMetaName]: objectMeta,
    [listMetaName]: listMeta,
  };
  for (const served of resources) {
    const name = schemaName(served);
    const added = addedFields[`${served.groupVersion}/${served.kind}`] ?? [];
    schemas[name] = kindSchema(served, prefix, added);
    if (served.verbs.includes('list')) schemas[`${name}List`] = listSchema(served, prefix);
  }
  return schemas;
}

/** Upstream's names: the Go package of the kind, its domain reversed. */
export function schemaName({ group, version, kind }: ServedResource): string {
  return `${packages[group] ?? `io.k8s.api.${group.split('.')[0]}`}.${version}.${kind}`;
}

const packages: Readonly<Record<string, string>> = {
  '': 'io.k8s.api.core',
  'apiextensions.k8s.io': 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions',
  'apiregistration.k8s.io': 'io.k8s.kube-aggregator.pkg.apis.apiregistration',
  'internal.apiserver.k8s.io': 'io.k8s.api.apiserverinternal',
};

const objectMetaName = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const listMetaName = 'io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta';

const string: JsonObject = { type: 'string' };
const stringMap: JsonObject = { type: 'object', additionalProperties: string };
/** Fields are not described any further: the server takes whatever is in them. */
const anything: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

const objectMeta: JsonObject = {
  description: 'Metadata that every stored object has.',
  type: 'object',
  properties: {
    name: { ...string, description: 'Unique within its namespace.' },
    namespace: { ...string, description: 'The space the name is unique in.' },
    uid: { ...string, description: 'Unique in time and space; set by the server.' },
    resourceVersion: { ...string, description: 'Revision of the store at the last change.' },
    creationTimestamp: { ...string, format: 'date-time', description: 'When it was created.' },
    labels: { ...stringMap, description: 'What selectors select by.' },
    annotations: { ...stringMap, description: 'Notes that nothing selects by.' },
    finalizers: { type: 'array', items: string, description: 'Who has to agree before it is removed.' },
  },
};
const listMeta: JsonObject = {
  description: 'Metadata of a list.',
  type: 'object',
  properties: { resourceVersion: string, continue: string },
};

/** Top-level fields of the kinds that have no spec and status. */
const fieldsByKind: Readonly<Record<string, JsonObject>> = {
  ConfigMap: { data: stringMap, binaryData: stringMap, immutable: { type: 'boolean' } },
  Secret: { data: stringMap, stringData: stringMap, type: string, immutable: { type: 'boolean' } },
};

function kindSchema(served: ServedResource, prefix: string, added: readonly string[]): JsonObject {
  const { kind, groupVersion } = served;
  const fields = fieldsByKind[kind] ?? {
    spec: { ...anything, ...withFields(added), description: `What is wanted of the ${kind}.` },
    status: { ...anything, description: `What was last seen of the ${kind}.` },
  };
  return {
    description: `${kind} of ${groupVersion}, as an example server stores it.`,
    type: 'object',
    properties: {
      apiVersion: { ...string, description: 'Version of the schema of this object.' },
      kind: { ...string, description: 'What this object is.' },
      metadata: reference(prefix, objectMetaName, 'Standard metadata.'),
      ...fields,
    },
    'x-kubernetes-group-version-kind': [groupVersionKind(served)],
  };
}

function withFields(names: readonly string[]): JsonObject {
  return names.length === 0 ? {} : { properties: Object.fromEntries(names.map((name) => [name, string])) };
}

function listSchema(served: ServedResource, prefix: string): JsonObject {
  const { kind, groupVersion } = served;
  return {
    description: `A list of ${kind} of ${groupVersion}.`,
    type: 'object',
    required: ['items'],
    properties: {
      apiVersion: string,
      kind: string,
      metadata: reference(prefix, listMetaName, 'Standard metadata of a list.'),
      items: { type: 'array', items: { $ref: `${prefix}${schemaName(served)}` } },
    },
    'x-kubernetes-group-version-kind': [{ ...groupVersionKind(served), kind: `${kind}List` }],
  };
}

export function groupVersionKind({ group, version, kind }: ServedResource): JsonObject {
  return { group, kind, version };
}

/** OpenAPI 3.0 lets nothing stand beside `$ref`, hence the `allOf`; OpenAPI 2 clients want the plain form. */
function reference(prefix: string, name: string, description: string): JsonObject {
  const plain = { $ref: `${prefix}${name}` };
  return prefix.startsWith('#/definitions') ? { ...plain, description } : { allOf: [plain], description };
}

/** The properties of a schema that has any. */
export function propertiesOf(schema: JsonObject): Readonly<Record<string, JsonObject>> {
  const properties = schema['properties'];
  if (!isJsonObject(properties)) return {};
  return Object.fromEntries(
    Object.entries(properties).filter((entry): entry is [string, JsonObject] => isJsonObject(entry[1])),
  );
}
