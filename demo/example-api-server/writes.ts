import { type Answer, objectAnswer } from './answer.ts';
import {
  ApiError,
  alreadyExists,
  conflict,
  invalid,
  methodNotAllowed,
  modifiedMeanwhile,
  notFound,
} from './api-error.ts';
import { knownFields, withWarnings } from './field-validation.ts';
import { arrayAt, type JsonObject, type KubernetesObject, textAt } from './kubernetes-object.ts';
import { negotiate } from './negotiation.ts';
import { patched } from './patch/patch-request.ts';
import { decodeDeleteOptions, decodeObject } from './request-body.ts';
import type { ResourceRequest } from './resource-request.ts';
import { selectorOf } from './selectors.ts';
import { asStored, decoded } from './storage-version.ts';
import { StoreError, type WriteOptions, withMetadata } from './store.ts';
import { inVersion, prepareForCreate, prepareForUpdate } from './strategy.ts';
import { presentObject } from './table.ts';

export function create(request: ResourceRequest): Answer {
  if (request.target.name !== '') throw methodNotAllowed();
  const given = decodeObject(request.body, request.contentType);
  const { object, warnings } = knownFields(request, given);
  return withWarnings(answered(request, store(request, prepareForCreate(request, object)), 201), warnings);
}

export function update(request: ResourceRequest): Answer {
  const given = decodeObject(request.body, request.contentType);
  const { object, warnings } = knownFields(request, given);
  return withWarnings(
    answered(request, replace(request, prepareForUpdate(request, existing(request), object))),
    warnings,
  );
}

export function patch(request: ResourceRequest): Answer {
  const current = find(request);
  const { object, warnings } = knownFields(request, patched(request, current));
  const answer =
    current === undefined
      ? answered(request, store(request, prepareForCreate(request, object)), 201)
      : answered(request, replace(request, prepareForUpdate(request, current, object)));
  return withWarnings(answer, warnings);
}

/** Deleting is done at once, unless finalizers hold the object; dependents of an owner are left alone. */
export function remove(request: ResourceRequest): Answer {
  const current = existing(request);
  const options = decodeDeleteOptions(request.body, request.contentType);
  checkPreconditions(request, current, options);
  const removed = removeOne(request, current, { dryRun: isDryRun(request, options) });
  // Pods and namespaces end gracefully in Kubernetes, so they are answered as objects, the others as a Status.
  const { group, kind } = request.served;
  const isGraceful = group === '' && (kind === 'Pod' || kind === 'Namespace');
  if (isGraceful || removed.metadata.deletionTimestamp !== undefined) return answered(request, removed);
  return objectAnswer(deletedStatus(request, removed), negotiate(request.accept).encoding);
}

export function removeCollection(request: ResourceRequest): Answer {
  const { server, served, target, query } = request;
  const matches = selectorOf(query, served.storage);
  const options = decodeDeleteOptions(request.body, request.contentType);
  const dryRun = isDryRun(request, options);
  const items = server.store
    .list(served.storage, target.namespace)
    .map((object) => decoded(server, object))
    .filter(matches)
    .map((object) => removeOne(request, object, { dryRun }));
  const list = {
    kind: `${served.kind}List`,
    apiVersion: served.groupVersion,
    metadata: { resourceVersion: String(server.store.revision) },
    items,
  };
  return objectAnswer(list, negotiate(request.accept).encoding);
}

/** The object a request names. @throws {ApiError} NotFound; 500 when the server cannot decode it */
export function existing(request: ResourceRequest): KubernetesObject {
  const found = find(request);
  if (found === undefined) throw notFound(request.served, request.target.name);
  return found;
}

/** Stores the new state of an object; one that was only held by its finalizers goes with the last of them. */
export function replace(request: ResourceRequest, object: KubernetesObject): KubernetesObject {
  const { server, served } = request;
  const name = object.metadata.name ?? '';
  const options = { dryRun: isDryRun(request) };
  try {
    const stored = server.store.update(served.storage, asStored(request, object), options);
    const { deletionTimestamp, finalizers = [] } = stored.metadata;
    if (deletionTimestamp === undefined || finalizers.length > 0 || options.dryRun) return stored;
    return server.store.remove(served.storage, stored.metadata.namespace ?? '', name);
  } catch (error) {
    if (error instanceof StoreError) throw conflict(served, name, modifiedMeanwhile);
    throw error;
  }
}

export function answered(request: ResourceRequest, object: KubernetesObject, code = 200): Answer {
  return presentObject(request, inVersion(request.served, object), code);
}

function find({ server, served, target }: ResourceRequest): KubernetesObject | undefined {
  const namespace = served.scope === 'Cluster' ? '' : target.namespace;
  const found = server.store.get(served.storage, namespace, target.name);
  return found && decoded(server, found);
}

function store(request: ResourceRequest, object: KubernetesObject): KubernetesObject {
  try {
    const { server, served } = request;
    return server.store.create(served.storage, asStored(request, object), { dryRun: isDryRun(request) });
  } catch (error) {
    if (error instanceof StoreError) throw alreadyExists(request.served, object.metadata.name ?? '');
    throw error;
  }
}

const permanentNamespaces = ['default', 'kube-public', 'kube-system'];

function removeOne(
  request: ResourceRequest,
  current: KubernetesObject,
  options: WriteOptions,
): KubernetesObject {
  const { served, server } = request;
  const { name = '', namespace = '', finalizers = [], deletionTimestamp } = current.metadata;
  const isNamespace = served.group === '' && served.resource === 'namespaces';
  if (isNamespace && permanentNamespaces.includes(name)) {
    throw new ApiError('Forbidden', `namespaces "${name}" is forbidden: this namespace may not be deleted`, {
      name,
      kind: 'namespaces',
    });
  }
  if (finalizers.length > 0) {
    if (deletionTimestamp !== undefined) return current;
    const marked = withMetadata(current, { deletionTimestamp: server.store.timestamp() });
    return server.store.update(served.storage, marked, options);
  }
  if (options.dryRun === true) return current;
  // No namespace controller runs: what is in the namespace goes with it.
  if (isNamespace) server.store.removeNamespaceContent(name);
  return server.store.remove(served.storage, namespace, name);
}

function checkPreconditions(
  { served }: ResourceRequest,
  { metadata }: KubernetesObject,
  options: JsonObject,
): void {
  for (const field of ['uid', 'resourceVersion'] as const) {
    const wanted = textAt(options, 'preconditions', field);
    if (wanted === '' || wanted === metadata[field]) continue;
    const label = field === 'uid' ? 'UID' : 'ResourceVersion';
    const why = `the ${label} in the precondition (${wanted}) does not match the ${label} in record (${metadata[field] ?? ''}). The object might have been deleted and then recreated`;
    throw conflict(served, metadata.name ?? '', `Precondition failed: ${why}`);
  }
}

/** @throws {ApiError} Invalid for any value but `All`. */
function isDryRun({ query }: ResourceRequest, body: JsonObject = {}): boolean {
  const values = [...query.getAll('dryRun'), ...arrayAt(body, 'dryRun')];
  const unknown = values.find((value) => value !== 'All');
  if (unknown !== undefined) {
    const message = `Unsupported value: ${JSON.stringify(unknown)}: supported values: "All"`;
    throw invalid('meta.k8s.io', 'CreateOptions', '', [
      { reason: 'FieldValueNotSupported', field: 'dryRun', message },
    ]);
  }
  return values.length > 0;
}

function deletedStatus({ served }: ResourceRequest, { metadata }: KubernetesObject): JsonObject {
  const { name = '', uid = '' } = metadata;
  const group = served.group === '' ? {} : { group: served.group };
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name, ...group, kind: served.resource, uid },
  };
}
