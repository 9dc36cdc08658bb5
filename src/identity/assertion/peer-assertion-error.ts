import { AuthenticationError } from '../authenticator.ts';

export type PeerAssertionErrorCode =
  /** Too long, several of them, no compact JWS, of another `typ`, or with claims missing or unknown. */
  | 'Malformed'
  /** No key is pinned under its `kid`. */
  | 'UnknownKey'
  /** The signature does not hold, or is of another algorithm than the key's. */
  | 'BadSignature'
  /** The key may not speak for the issuer that it names. */
  | 'WrongIssuer'
  /** Meant for another destination. */
  | 'WrongAudience'
  | 'Expired'
  | 'NotYetValid'
  /** Valid for longer than any assertion may be. */
  | 'LifetimeTooLong'
  /** Made for another method, path or reroute mark. */
  | 'RequestMismatch'
  | 'Replayed'
  /** Too many at once to be told from replays. */
  | 'ReplayWindowFull';

/**
 * An assertion that is not believed. It ends the request: its sender meant to speak for somebody else, and the
 * request must not run under another identity that the connection has.
 */
export class PeerAssertionError extends AuthenticationError {
  override readonly isFinal = true;
  readonly code: PeerAssertionErrorCode;
  /** @param message the reason. The sender sees it, so it quotes nothing of the assertion. */
  constructor(code: PeerAssertionErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
