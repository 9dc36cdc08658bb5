import type { Caller } from '../request/user-info.ts';

/** Who may use the router's own paths. */
export interface AllowedCallers {
  readonly users: readonly string[];
  readonly groups: readonly string[];
}

/** Kubernetes' own super-users: those who may change the control plane may inspect its router. */
export const defaultAllowedCallers: AllowedCallers = { users: [], groups: ['system:masters'] };

export type Authorization = 'allowed' | 'forbidden' | 'unauthenticated';

/**
 * Pure. Only callers that this router authenticated itself can be allowed. A front proxy may also forward an
 * anonymous caller. Such a caller is never authenticated, even if its user is allowed.
 */
export function authorizeOwnPaths(caller: Caller, allowed: AllowedCallers): Authorization {
  if (caller.kind !== 'authenticated') return 'unauthenticated';
  const { name, groups } = caller.user;
  if (name === 'system:anonymous' || groups.includes('system:unauthenticated')) return 'unauthenticated';
  return allowed.users.includes(name) || groups.some((group) => allowed.groups.includes(group))
    ? 'allowed'
    : 'forbidden';
}
