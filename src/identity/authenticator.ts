import type { InboundRequest } from '../request/inbound.ts';
import type { Caller } from '../request/user-info.ts';

/**
 * Thrown for credentials that are present and wrong: the request ends with 401, and its sender is told the
 * message. It names the class of the error and contains nothing of a credential, a key, a file or an address.
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

/**
 * A client certificate that was presented and counts for nothing. Told apart from other refusals because a
 * token in the same request may still speak for the caller.
 */
export class ClientCertificateError extends AuthenticationError {}
