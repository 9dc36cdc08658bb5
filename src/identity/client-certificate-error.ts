import { AuthenticationError } from './authenticator.ts';

/**
 * A client certificate that was presented and counts for nothing. Told apart from other refusals because a
 * token in the same request may still speak for the caller.
 */
export class ClientCertificateError extends AuthenticationError {}
