import { firstHeader, type RawHeaders } from '../apimachinery/raw-headers.ts';
import type { InboundRequest } from '../proxy/inbound.ts';
import { AuthenticationError, type Authenticator } from './authenticator.ts';
import { ClientCertificateError } from './client-certificate-error.ts';
import { checkIdentityIsExpressible, IdentityTextError } from './identity-text.ts';
import type { Caller, UserInfo } from './user-info.ts';
import { hasWebsocketBearer } from './websocket-bearer.ts';

const passthrough: Caller = Object.freeze({ kind: 'passthrough' });

/**
 * Establishes the caller, once, at the door. The authenticators are asked in order and the first success wins;
 * refusals count only if none succeeded (k8s.io/apiserver pkg/authentication/request/union). Without any
 * opinion the caller passes through, anonymous ones included: the API server knows whether it allows them.
 *
 * A client certificate that was presented and not accepted is a refusal, unless the request also carries a
 * bearer token: the API server is then the last member of the union, and its word on the token decides.
 * @throws {AuthenticationError} when credentials were refused and nothing else speaks for the caller. The
 *   message names no authority, file or address.
 */
export async function authenticate(
  inbound: InboundRequest,
  authenticators: readonly Authenticator[],
): Promise<Caller> {
  const refusals: AuthenticationError[] = [];
  const { clientCertificateError } = inbound.connection;
  if (clientCertificateError !== undefined) {
    refusals.push(
      new ClientCertificateError(
        'the client certificate could not be verified: present one of an authority that this cluster accepts, or none',
        { cause: clientCertificateError },
      ),
    );
  }
  for (const authenticator of authenticators) {
    try {
      const opinion = authenticator.authenticate(inbound);
      // Most have one at once, and each turn of the microtask queue costs every request.
      const caller = opinion instanceof Promise ? await opinion : opinion;
      if (caller?.kind === 'authenticated') return admitted(caller);
    } catch (error) {
      // Anything else is a fault of the router, not of the credentials: fail closed, at once.
      if (!(error instanceof AuthenticationError) || error.isFinal) throw error;
      refusals.push(error);
    }
  }
  const [refusal] = refusals;
  if (refusal === undefined) return passthrough;
  const onlyCertificates = refusals.every((each) => each instanceof ClientCertificateError);
  if (onlyCertificates && hasBearerToken(inbound.headers)) return passthrough;
  if (refusals.length === 1) throw refusal;
  throw new AuthenticationError(refusals.map(({ message }) => message).join('; '), {
    cause: new AggregateError(refusals),
  });
}

function admitted(caller: Extract<Caller, { kind: 'authenticated' }>): Caller {
  try {
    checkIdentityIsExpressible(caller.user);
  } catch (error) {
    if (!(error instanceof IdentityTextError)) throw error;
    throw new AuthenticationError(error.message, { cause: error });
  }
  return { ...caller, user: withAuthenticatedGroup(caller.user) };
}

/**
 * Adds `system:authenticated` as every API server does after authentication
 * (pkg/authentication/group/authenticated_group_adder.go). It is forwarded too, as upstream's peers and
 * aggregator forward it: the destination adds it only where it is missing. A front proxy may also assert an
 * anonymous caller, who must not gain the group on the way.
 */
function withAuthenticatedGroup(user: UserInfo): UserInfo {
  const { name, groups } = user;
  const settled =
    name === 'system:anonymous' ||
    groups.includes('system:authenticated') ||
    groups.includes('system:unauthenticated');
  return settled ? user : { ...user, groups: [...groups, 'system:authenticated'] };
}

function hasBearerToken(headers: RawHeaders): boolean {
  // Other schemes mean nothing to an API server: the caller would slip through as anonymous.
  const authorization = firstHeader(headers, 'authorization');
  return (
    (authorization !== undefined && /^\s*bearer +[^\s]/i.test(authorization)) || hasWebsocketBearer(headers)
  );
}
