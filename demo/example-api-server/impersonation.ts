import { ApiError, badRequest } from './api-error.ts';
import type { ExampleUser } from './authentication.ts';
import { extraOf, headersByName } from './identity-headers.ts';

/**
 * User that a request acts as (`kubectl --as`): the one that the Impersonate headers name, if the caller is an
 * administrator, else the caller.
 * @throws {ApiError} Forbidden; BadRequest for groups, uid or extra of nobody
 */
export function impersonated(user: ExampleUser, rawHeaders: readonly string[]): ExampleUser {
  const headers = headersByName(rawHeaders);
  const name = headers.get('impersonate-user')?.[0];
  if (name === undefined) {
    if (![...headers.keys()].some((header) => header.startsWith('impersonate-'))) return user;
    throw badRequest('requested impersonation of groups, uid or extra without impersonating a user');
  }
  if (!user.groups.includes('system:masters')) {
    const why = `User "${user.name}" cannot impersonate resource "users" in API group "" at the cluster scope`;
    throw new ApiError('Forbidden', `users "${name}" is forbidden: ${why}`, { name, kind: 'users' });
  }
  const groups = headers.get('impersonate-group') ?? [];
  return {
    name,
    uid: headers.get('impersonate-uid')?.[0] ?? '',
    groups: [...new Set([...groups, 'system:authenticated'])],
    extra: extraOf(headers, 'impersonate-extra-'),
  };
}
