import type { Answer } from './answer.ts';
import { methodNotAllowed, PathNotFoundError } from './api-error.ts';
import { get, list } from './reads.ts';
import { decodeObject } from './request-body.ts';
import type { RequestTarget } from './request-target.ts';
import type { ResourceRequest } from './resource-request.ts';
import { review } from './reviews.ts';
import type { ServedResource, ServedResources } from './served-resources.ts';
import { subresource } from './subresources.ts';
import { watch } from './watch.ts';
import { create, patch, remove, removeCollection, update } from './writes.ts';

const handlers: Readonly<Record<string, (request: ResourceRequest) => Answer>> = {
  get,
  list,
  watch,
  create: (request) => review(request) ?? bindByBody(request) ?? create(request),
  update,
  patch,
  delete: remove,
  deletecollection: removeCollection,
};

/**
 * The resource a request is for.
 * @throws {PathNotFoundError} when this server does not serve it, whatever other servers of the cluster do
 * @throws {ApiError} MethodNotAllowed when it does not serve the verb
 */
export function resolveResource(
  served: ServedResources,
  { method, resource: target }: RequestTarget,
): ServedResource {
  const found = target === undefined ? undefined : served.find(target.group, target.version, target.resource);
  if (target === undefined || found === undefined) throw new PathNotFoundError();
  const part = found.subresources.find(({ name }) => name === target.subresource);
  if (target.subresource !== '' && part === undefined) throw new PathNotFoundError();
  const isNamespaced = found.scope === 'Namespaced';
  if (!isNamespaced && target.namespace !== '' && found.resource !== 'namespaces')
    throw new PathNotFoundError();
  // All namespaces together can only be read.
  if (isNamespaced && target.namespace === '' && target.verb !== 'list' && target.verb !== 'watch') {
    throw target.name === '' ? methodNotAllowed() : new PathNotFoundError();
  }
  const verbs = part?.verbs ?? found.verbs;
  if (method === 'HEAD' || !verbs.includes(target.verb)) throw methodNotAllowed();
  return found;
}

export function handleResource(request: ResourceRequest): Answer {
  if (request.target.subresource !== '') return subresource(request);
  const handler = handlers[request.target.verb];
  if (handler === undefined) throw methodNotAllowed();
  return handler(request);
}

/** The old form of binding, `POST …/bindings`: the pod is named in the body. `undefined` for other resources. */
function bindByBody(request: ResourceRequest): Answer | undefined {
  const { served, server, target } = request;
  if (served.group !== '' || served.resource !== 'bindings') return undefined;
  const pods = server.served.find('', 'v1', 'pods');
  if (pods === undefined) throw new PathNotFoundError();
  const { name = '' } = decodeObject(request.body, request.contentType).metadata;
  const binding = { ...target, resource: 'pods', name, subresource: 'binding' };
  return subresource({ ...request, served: pods, target: binding });
}
