import { statusResponse } from '../../apimachinery/status.ts';
import { auditIdOf } from '../../request/audit-id.ts';
import type { Router } from '../../request/router.ts';
import type { Logger } from '../../runtime/logger.ts';

const message =
  'Unauthorized: this gateway has no front-proxy certificate and cannot tell API servers who a client certificate names: send a bearer token, and no client certificate';

/**
 * For a gateway that cannot tell API servers who calls: callers whom it has authenticated get 401. Every request to a
 * server passes here, so that none is sent as an anonymous one, or as the user of a second credential.
 */
export function refuseAuthenticated(router: Router, logger: Logger): Router {
  return {
    ...router,
    deliver(request, send) {
      const { caller, inbound } = request;
      if (caller.kind !== 'authenticated') return router.deliver(request, send);
      const { remoteAddress } = inbound.connection;
      logger.info({ error: message, remoteAddress, 'audit-ID': auditIdOf(inbound) }, 'Unauthorized');
      return Promise.resolve(statusResponse('Unauthorized', message));
    },
  };
}
