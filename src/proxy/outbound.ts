import type { RequestInfo } from '../apimachinery/request-info.ts';
import { isLongRunning } from '../apimachinery/subresources.ts';
import type { AssertionSigner } from '../identity/assertion/assertion-signer.ts';
import { stampIdentity } from '../identity/stamp-identity.ts';
import type { Destination } from '../request/destination.ts';
import { type IdentityHeaderNames, rerouteMarkHeader, viaHeader } from '../request/headers.ts';
import type { OutboundRequest } from '../request/transport.ts';
import type { Decision } from '../routing/decision.ts';
import type { AdmittedRequest } from './admitted-request.ts';

export interface OutboundOptions {
  readonly identityHeaderNames: IdentityHeaderNames;
  /** `undefined`: X-Remote headers over connections with the front-proxy certificate. */
  readonly assertionSigner?: AssertionSigner | undefined;
  readonly pseudonym: string;
  /** As in `OutboundRequest`, of a watch that was given to `destination` because of `decision`. Default: it stays where it is. */
  readonly watches?: {
    isMisplaced(requestInfo: RequestInfo, decision: Decision, destination: Destination): boolean;
    isOfBefore(requestInfo: RequestInfo, decision: Decision): boolean;
  };
}

/** The request that is to leave; a question of the router itself was decided by no view. */
type LeavingRequest = Omit<AdmittedRequest, 'view'>;

export type OutboundHints = Pick<OutboundRequest, 'othersLeft' | 'othersMayServe' | 'stillHolds'>;

/**
 * The one place where a request is made ready to leave, for local, peer, second try and upgrade alike. Order matters (RFC 9110
 * section 7.6.1): what the client's `Connection` nominates and every identity header it sent go first; only then is the
 * established identity stamped.
 *
 * A promise only where an assertion has to be signed first.
 * @throws {AssertionTooLargeError} (rejects) when no assertion can carry the identity.
 */
export function buildOutboundRequest(
  request: LeavingRequest,
  destination: Destination,
  options: OutboundOptions,
  hints: OutboundHints = {},
): OutboundRequest | Promise<OutboundRequest> {
  const { inbound, caller } = request;
  const { kind, id } = destination;
  const { assertionSigner } = options;
  if (assertionSigner === undefined || caller.kind !== 'authenticated') {
    return ready(request, destination, options, hints);
  }
  const { method, target } = inbound;
  return assertionSigner
    .sign({ user: caller.user, destinationId: id, method, target, rerouted: kind === 'peer' })
    .then((assertion) => ready(request, destination, options, hints, assertion));
}

function ready(
  request: LeavingRequest,
  destination: Destination,
  { identityHeaderNames, pseudonym, watches }: OutboundOptions,
  { othersLeft, othersMayServe, stillHolds }: OutboundHints,
  assertion?: string,
): OutboundRequest {
  const { inbound, caller, requestInfo, decision } = request;
  const isWatch = requestInfo.verb === 'watch';
  const { auditId, connection } = inbound;
  const stamp = { assertion, auditId, remoteAddress: connection.remoteAddress };
  const headers = stampIdentity(inbound.headers, caller, identityHeaderNames, stamp);
  headers.push(viaHeader, `${inbound.httpVersion ?? '1.1'} ${pseudonym}`);
  // At most one hop: the peer serves it itself (KEP-4020; the header is Kubernetes' own). Set, never added to.
  if (destination.kind === 'peer') headers.push(rerouteMarkHeader, 'true');
  return {
    destination,
    method: inbound.method,
    target: inbound.target,
    headers,
    // The certificate vouches for X-Remote headers; an assertion vouches for itself.
    presentFrontProxyCertificate: caller.kind === 'authenticated' && assertion === undefined,
    longRunning: isLongRunning(requestInfo),
    passesThrough: requestInfo.subresource === 'proxy',
    isWatch,
    // Nothing of the caller and of the connection: it lives as long as the watch.
    ...(isWatch && watches !== undefined
      ? {
          isMisplaced: () => watches.isMisplaced(requestInfo, decision, destination),
          isOfBefore: () => watches.isOfBefore(requestInfo, decision),
        }
      : {}),
    othersLeft,
    othersMayServe,
    stillHolds,
  };
}
