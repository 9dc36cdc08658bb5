import { allHeaders, firstHeader, type RawHeaders } from '../apimachinery/raw-headers.ts';
import type { InboundRequest } from '../request/inbound.ts';
import type { Caller, UserInfo } from '../request/user-info.ts';
import { websocketBearerToken } from '../request/websocket-bearer.ts';
import { checkIdentityIsExpressible, IdentityTextError } from './stamp-identity.ts';

/**
 * Thrown for credentials that are present and wrong: the request ends with 401, and its sender is told the message, which
 * contains nothing of a credential, a key, a file or an address.
 */
export class AuthenticationError extends Error {
  override readonly name = 'AuthenticationError';
  /** No other credentials of the request may speak for the caller in their place. */
  readonly isFinal: boolean = false;
}

/** One way to establish the caller; `undefined` means no opinion, the next one is asked. */
export interface Authenticator {
  readonly name: string;
  /** @throws {AuthenticationError} when the request carries this kind of credentials and they are refused. */
  authenticate(inbound: InboundRequest): Caller | undefined | Promise<Caller | undefined>;
}

/** A token in the same request may still speak for the caller. */
export class ClientCertificateError extends AuthenticationError {}

const passthrough: Caller = Object.freeze({ kind: 'passthrough' });

/**
 * Establishes the caller. The authenticators are asked in order and the first success wins; refusals count only if none
 * succeeded (k8s.io/apiserver pkg/authentication/request/union). Without any opinion the caller passes through.
 *
 * A client certificate that was presented and not accepted is a refusal, unless the request also carries a bearer token: the
 * API server's word on the token decides.
 *
 * @param first who is asked first, of those left after one that had to be waited for; `refusals`: of those before
 * @returns a promise only where an authenticator has to wait for its opinion
 * @throws {AuthenticationError} (or rejects) when credentials were refused and nothing else speaks for the caller.
 */
export function askAuthenticators(
  inbound: InboundRequest,
  authenticators: readonly Authenticator[],
  first = 0,
  refusals = refusedCertificates(inbound),
): Caller | Promise<Caller> {
  for (let index = first; index < authenticators.length; index++) {
    try {
      const opinion = authenticators[index]?.authenticate(inbound);
      // Most have one at once, and each turn of the microtask queue costs every request. `then` also tells promises of
      // another realm and remote calls: not waited for, their refusal would pass for no opinion.
      if (opinion !== undefined && 'then' in opinion) {
        const askFurther = () => askAuthenticators(inbound, authenticators, index + 1, refusals);
        return Promise.resolve(opinion)
          .then(admitted)
          .then(
            (caller) => caller ?? askFurther(),
            (error: unknown) => {
              refusals.push(refusalOf(error));
              return askFurther();
            },
          );
      }
      const caller = admitted(opinion);
      if (caller !== undefined) return caller;
    } catch (error) {
      refusals.push(refusalOf(error));
    }
  }
  return unidentified(inbound, refusals);
}

function refusedCertificates({ connection }: InboundRequest): AuthenticationError[] {
  const { clientCertificateError: cause } = connection;
  if (cause === undefined) return [];
  const text =
    'the client certificate could not be verified: present one of an authority that this cluster accepts, or none';
  return [new ClientCertificateError(text, { cause })];
}

/** @throws errors of the router rather than of the credentials, and final refusals: fail closed, at once. */
function refusalOf(error: unknown): AuthenticationError {
  if (!(error instanceof AuthenticationError) || error.isFinal) throw error;
  return error;
}

function unidentified(inbound: InboundRequest, refusals: readonly AuthenticationError[]): Caller {
  const [refusal] = refusals;
  if (refusal === undefined) return passthrough;
  const onlyCertificates = refusals.every((each) => each instanceof ClientCertificateError);
  if (onlyCertificates && hasBearerToken(inbound.headers)) return passthrough;
  if (refusals.length === 1) throw refusal;
  throw new AuthenticationError(refusals.map(({ message }) => message).join('; '), {
    cause: new AggregateError(refusals),
  });
}

const knownAdmitted = new WeakMap<Caller, Caller>();

function admitted(caller: Caller | undefined): Caller | undefined {
  if (caller?.kind !== 'authenticated') return undefined;
  const known = knownAdmitted.get(caller);
  if (known !== undefined) return known;
  try {
    checkIdentityIsExpressible(caller.user);
  } catch (error) {
    if (!(error instanceof IdentityTextError)) throw error;
    throw new AuthenticationError(error.message, { cause: error });
  }
  const result = { ...caller, user: withAuthenticatedGroup(caller.user) };
  // An authenticator may use one object again, for the next caller: only frozen objects are cached.
  if (Object.isFrozen(caller) && Object.isFrozen(caller.user)) {
    Object.freeze(result.user);
    knownAdmitted.set(caller, result);
  }
  return result;
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

/** Without it an API server looks at no subprotocol (k8s.io/apimachinery pkg/util/httpstream/wsstream IsWebSocketRequest). */
function asksToUpgrade(headers: RawHeaders): boolean {
  return allHeaders(headers, 'connection').some((line) => /(?:^|,)\s*upgrade\s*(?:,|$)/i.test(line));
}

function hasBearerToken(headers: RawHeaders): boolean {
  // Other schemes mean nothing to an API server: the caller would slip through as anonymous.
  const authorization = firstHeader(headers, 'authorization');
  return (
    (authorization !== undefined && /^\s*bearer +[^\s]/i.test(authorization)) ||
    (asksToUpgrade(headers) && websocketBearerToken(headers) !== undefined)
  );
}
