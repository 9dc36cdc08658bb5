import { ApiError, qualified } from './api-error.ts';
import { type ExampleUser, isAnonymous } from './authentication.ts';
import type { RequestTarget, ResourceTarget } from './request-target.ts';

const publicPaths = /^\/(livez|readyz|healthz|version)(\/|$)/;
const discoveryPaths = /^\/(api|apis|openapi)(\/|$)/;

/**
 * Authenticated users may do everything with resources; the anonymous nothing. Of other paths all may read health and
 * discovery, and `system:masters` may do everything.
 * @throws {ApiError} Forbidden
 */
export function authorize(user: ExampleUser, { method, path, resource }: RequestTarget): void {
  if (resource !== undefined) {
    if (isAnonymous(user)) throw forbiddenResource(user, resource);
    return;
  }
  if (user.groups.includes('system:masters')) return;
  const isRead = method === 'GET' || method === 'HEAD';
  if (isRead && (publicPaths.test(path) || discoveryPaths.test(path))) return;
  const verb = method.toLowerCase();
  throw new ApiError(
    'Forbidden',
    escapeHtml(`forbidden: User "${user.name}" cannot ${verb} path "${path}"`),
    {},
  );
}

function forbiddenResource(user: ExampleUser, target: ResourceTarget): ApiError {
  const { group, resource, subresource, namespace, name, verb } = target;
  const full = subresource === '' ? resource : `${resource}/${subresource}`;
  const what = qualified({ group, resource });
  const where =
    namespace === '' || resource === 'namespaces'
      ? 'at the cluster scope'
      : `in the namespace "${namespace}"`;
  const why = `User "${user.name}" cannot ${verb} resource "${full}" in API group "${group}" ${where}`;
  const message = `${what}${name === '' ? '' : ` "${name}"`} is forbidden: ${why}`;
  return new ApiError('Forbidden', escapeHtml(message), {
    ...(name === '' ? {} : { name }),
    ...(group === '' ? {} : { group }),
    kind: resource,
  });
}

/** A Forbidden message repeats what the client sent; upstream escapes it (responsewriters/errors.go). */
function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
