import { randomInt } from 'node:crypto';
import { badRequest, notFound } from './api-error.ts';
import { withDefaults } from './defaults.ts';
import { withoutUnknownFields } from './field-validation.ts';
import { equalJson, type KubernetesObject, without } from './kubernetes-object.ts';
import type { ResourceRequest } from './resource-request.ts';
import type { ServedResource } from './served-resources.ts';
import { withMetadata } from './store.ts';
import { validateName } from './validation.ts';

/**
 * The stored object as one version of the API shows it, without the fields that the server does not know. Otherwise
 * only `apiVersion` is changed, no field converted.
 */
export function inVersion(served: ServedResource, object: KubernetesObject): KubernetesObject {
  return { ...withoutUnknownFields(served, object), apiVersion: served.groupVersion, kind: served.kind };
}

/**
 * A new object, ready to be stored.
 * @throws {ApiError} BadRequest, Invalid, NotFound (of its namespace)
 */
export function prepareForCreate(request: ResourceRequest, given: KubernetesObject): KubernetesObject {
  const { served, server } = request;
  const placed = inUrl(request, given);
  validateName(served, placed);
  const { namespace } = placed.metadata;
  if (namespace !== undefined && !server.store.namespaceExists(namespace)) {
    throw notFound({ group: '', resource: 'namespaces' }, namespace);
  }
  const named = withName(placed);
  // Where there is a status subresource, status is not the maker's to say.
  const bare = hasStatus(served) ? withoutStatus(named) : named;
  const complete = withDefaults(served.kind, bare, server.store.timestamp());
  const metadata = {
    ...without(without(complete.metadata, 'resourceVersion'), 'deletionTimestamp'),
    ...(hasGeneration(served, complete) ? { generation: 1 } : {}),
  };
  return { ...complete, metadata };
}

/**
 * The new state of an object that is there, ready to be stored.
 * @throws {ApiError} BadRequest, Invalid
 */
export function prepareForUpdate(
  request: ResourceRequest,
  current: KubernetesObject,
  given: KubernetesObject,
): KubernetesObject {
  const { served } = request;
  const placed = inUrl(request, given);
  validateName(served, placed);
  const bare = hasStatus(served) ? withoutStatus(placed) : placed;
  const { status } = current;
  const next = hasStatus(served) && status !== undefined ? { ...bare, status } : bare;
  return withKeptMetadata(served, current, next);
}

/** Change of an object by a write through a subresource: `part` comes from `given`, everything else stays. */
export function prepareForPartialUpdate(
  request: ResourceRequest,
  current: KubernetesObject,
  given: KubernetesObject,
  part: 'status' | 'spec',
): KubernetesObject {
  const { resourceVersion, uid } = inUrl(request, given).metadata;
  const next = { ...current, [part]: given[part] };
  return withMetadata(withKeptMetadata(request.served, current, next), { resourceVersion, uid });
}

function withKeptMetadata(
  served: ServedResource,
  current: KubernetesObject,
  next: KubernetesObject,
): KubernetesObject {
  const { generation = 1, deletionTimestamp } = current.metadata;
  const changed = !equalJson(withoutMetadataAndStatus(current), withoutMetadataAndStatus(next));
  const metadata = {
    ...next.metadata,
    ...(hasGeneration(served, next) ? { generation: changed ? generation + 1 : generation } : {}),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
  };
  return { ...next, metadata };
}

/** Name, namespace, kind and version as the URL says; the body may leave them out but not contradict. */
function inUrl({ served, target }: ResourceRequest, given: KubernetesObject): KubernetesObject {
  const { apiVersion = served.groupVersion, kind = served.kind, metadata } = given;
  if (apiVersion !== served.groupVersion) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${served.groupVersion})`,
    );
  }
  if (kind !== served.kind) {
    throw badRequest(`${kind} in version "${served.version}" cannot be handled as a ${served.kind}`);
  }
  const name = metadata.name ?? '';
  if (target.name !== '' && name !== '' && name !== target.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`);
  }
  const placed = withMetadata(given, { name: target.name === '' ? metadata.name : target.name });
  if (served.scope === 'Cluster') return { ...placed, metadata: without(placed.metadata, 'namespace') };
  if ((metadata.namespace ?? target.namespace) !== target.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  return withMetadata(placed, { namespace: target.namespace });
}

/** The letters of names made by the server: no vowels, so that no words come out (k8s.io/apimachinery util/rand). */
const nameLetters = 'bcdfghjklmnpqrstvwxz2456789';

function withName(object: KubernetesObject): KubernetesObject {
  const { name = '', generateName = '' } = object.metadata;
  if (name !== '') return object;
  const letters = Array.from({ length: 5 }, () => nameLetters[randomInt(nameLetters.length)]);
  return withMetadata(object, { name: `${generateName}${letters.join('')}` });
}

function hasStatus({ subresources }: ServedResource): boolean {
  return subresources.some(({ name }) => name === 'status');
}

function hasGeneration(served: ServedResource, object: KubernetesObject): boolean {
  return hasStatus(served) && object['spec'] !== undefined;
}

function withoutStatus(object: KubernetesObject): KubernetesObject {
  return { ...without(object, 'status'), metadata: object.metadata };
}

function withoutMetadataAndStatus(object: KubernetesObject): KubernetesObject {
  return { ...withoutStatus(object), metadata: {} };
}
