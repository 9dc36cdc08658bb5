import { type Answer, objectAnswer } from './answer.ts';
import type { JsonObject, JsonValue, KubernetesObject, ObjectMeta } from './kubernetes-object.ts';
import { negotiate } from './negotiation.ts';
import type { ResourceRequest } from './resource-request.ts';
import { columnsOf } from './table-columns.ts';

/** One object in the form the client asked for. */
export function presentObject(request: ResourceRequest, object: KubernetesObject, code = 200): Answer {
  const { encoding, transformation } = negotiate(request.accept);
  if (transformation === 'none') return objectAnswer(object, encoding, code);
  if (transformation === 'PartialObjectMetadata')
    return objectAnswer(partial(object.metadata), encoding, code);
  const { resourceVersion = '' } = object.metadata;
  return objectAnswer(tableOf(request, [object], { resourceVersion }), encoding, code);
}

/** A list in the form the client asked for. */
export function presentList(
  request: ResourceRequest,
  objects: readonly KubernetesObject[],
  metadata: JsonObject,
): Answer {
  const { encoding, transformation } = negotiate(request.accept);
  const { kind, groupVersion } = request.served;
  if (transformation === 'Table') return objectAnswer(tableOf(request, objects, metadata), encoding);
  if (transformation === 'PartialObjectMetadata') {
    const items = objects.map((object) => partial(object.metadata));
    const type = { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1' };
    return objectAnswer({ ...type, metadata, items }, encoding);
  }
  // Items of a list of a built-in kind do not repeat kind and version.
  const items = objects.map(({ kind: _kind, apiVersion: _apiVersion, ...item }) => item);
  return objectAnswer({ kind: `${kind}List`, apiVersion: groupVersion, metadata, items }, encoding);
}

/** The object of a watch event in the form the client asked for. */
export function presentInEvent(request: ResourceRequest, object: KubernetesObject): JsonObject {
  const { transformation } = negotiate(request.accept);
  if (transformation === 'none') return object;
  if (transformation === 'PartialObjectMetadata') return partial(object.metadata);
  return tableOf(request, [object], { resourceVersion: object.metadata.resourceVersion ?? '' });
}

/** A Table (k8s.io/apimachinery meta/v1 types.go). */
function tableOf(
  { served, query, server }: ResourceRequest,
  objects: readonly KubernetesObject[],
  metadata: JsonObject,
): JsonObject {
  const columns = columnsOf(served.storage.group, served.kind);
  const now = new Date(server.store.timestamp());
  const include = query.get('includeObject') ?? 'Metadata';
  const included = (object: KubernetesObject): JsonValue => {
    if (include === 'None') return null;
    return include === 'Object' ? object : partial(object.metadata);
  };
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: columns.map(({ name, type, format = '', priority = 0 }) => ({
      name,
      type,
      format,
      description: '',
      priority,
    })),
    rows: objects.map((object) => ({
      cells: columns.map(({ cell }) => cell(object, now)),
      object: included(object),
    })),
  };
}

function partial(metadata: ObjectMeta): JsonObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata };
}
