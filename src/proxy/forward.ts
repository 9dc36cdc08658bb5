import { withAuditIdForClient } from '../request/audit-id.ts';
import { cleanResponseHeaders } from '../request/header-hygiene.ts';
import type { AdmittedRequest, Router } from '../request/router.ts';
import type { Transport } from '../request/transport.ts';
import { withVersionWarning } from '../request/version-warning.ts';
import { contradictionOfSnapshot } from './delivery/not-served.ts';
import { refuseRedirect } from './delivery/redirect.ts';
import { refusalOfServerThatEnds } from './delivery/shutting-down.ts';
import type { Replacement } from './merged-document.ts';

/**
 * Sends an admitted request where its decision says and passes the response on, streamed and untouched
 * for every code, unless it redirects the client to another server or `replacement` has one to give in its place.
 *
 * A response of the router's own (`InboundRequest.isPassedOn` tells) has no audit ID yet:
 * `handleRequest` adds one.
 */
export function forward(
  request: AdmittedRequest,
  router: Router,
  transport: Transport,
  replacement?: Replacement,
): Promise<Response> {
  const { inbound } = request;
  const { observed } = inbound;
  return router.deliver(request, (outbound) =>
    transport.send(outbound, inbound, (head) => {
      observed?.attemptResponded(head.status);
      // Either is a reason to ask another server, which `Router.deliver` does.
      const refusal = contradictionOfSnapshot(request, head) ?? refusalOfServerThatEnds(request, head);
      if (refusal !== undefined) return { kind: 'replace', response: refusal };
      const response = refuseRedirect(request, outbound.destination, head) ?? replacement?.(head.status);
      // Here, because the response may bypass the returned `Response`.
      observed?.responded(response?.status ?? head.status);
      if (response !== undefined) return { kind: 'replace', response };
      inbound.isPassedOn = true;
      const cleaned = withVersionWarning(cleanResponseHeaders(head.headers), inbound);
      const headers = withAuditIdForClient(cleaned, inbound);
      return { kind: 'forward', headers, bytes: observed?.responseBytes() };
    }),
  );
}
