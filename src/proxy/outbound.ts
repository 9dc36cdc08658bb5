import { isLongRunning } from '../apimachinery/long-running.ts';
import { allHeaders } from '../apimachinery/raw-headers.ts';
import type { IdentityHeaderNames } from '../identity/identity-header-names.ts';
import { stampIdentity } from '../identity/stamp-identity.ts';
import { cleanRequestHeaders, rerouteMarkHeader } from './header-hygiene.ts';
import type { AdmittedRequest } from './router.ts';
import type { Destination, OutboundRequest } from './transport.ts';
import { viaHeader, viaMember } from './via.ts';

/**
 * The one place where a request is made ready to leave, for local, peer, extension, second try and upgrade
 * alike. Order matters (RFC 9110 section 7.6.1): what the client's `Connection` nominates and every identity
 * header it sent go first; only then is the established identity stamped.
 * @param pseudonym this router's name in `Via`.
 */
export function buildOutboundRequest(
  request: AdmittedRequest,
  destination: Destination,
  identityHeaderNames: IdentityHeaderNames,
  pseudonym: string,
): OutboundRequest {
  const { inbound, caller, requestInfo } = request;
  const cleaned = cleanRequestHeaders(inbound.headers, identityHeaderNames);
  const headers = [...stampIdentity(cleaned, caller)];
  const forwardedFor = withForwardedFor(headers, inbound.connection.remoteAddress);
  forwardedFor.push(viaHeader, viaMember(inbound.httpVersion ?? '1.1', pseudonym));
  // At most one hop: the peer serves it itself (KEP-4020; the header is Kubernetes' own). Set, never added to.
  if (destination.kind === 'peer') forwardedFor.push(rerouteMarkHeader, 'true');
  return {
    destination,
    method: inbound.method,
    target: inbound.target,
    headers: forwardedFor,
    presentFrontProxyCertificate: caller.kind === 'authenticated',
    longRunning: isLongRunning(requestInfo),
  };
}

/** Appends the client's address, as Go's ReverseProxy does, so that the destination's audit log can name it. */
function withForwardedFor(headers: string[], remoteAddress: string | undefined): string[] {
  if (remoteAddress === undefined) return headers;
  const earlier = allHeaders(headers, 'x-forwarded-for');
  const others =
    earlier.length === 0
      ? headers
      : headers.filter(
          (_, index) => (headers[index - (index % 2)] as string).toLowerCase() !== 'x-forwarded-for',
        );
  others.push('X-Forwarded-For', [...earlier, remoteAddress].join(', '));
  return others;
}
