import { createMiddleware } from 'hono/factory';
import type { AllowedCallers } from '../identity/authorize.ts';
import type { HandlerEnvironment } from '../request/router.ts';

/** Kubernetes' group for monitoring of components (ClusterRole `system:monitoring`; KEP-4827, KEP-4828). */
const monitoringGroup = 'system:monitoring';

/** Who may read metrics and z-pages: who may use the router's own paths, and monitors. */
export function withMonitors(allowed: AllowedCallers): AllowedCallers {
  return { users: allowed.users, groups: [...allowed.groups, monitoringGroup] };
}

/** In the place of `onlyAllowedCallers` at the admin address, which does not authenticate callers. */
export const openToEveryone = createMiddleware<HandlerEnvironment>((_context, next) => next());
