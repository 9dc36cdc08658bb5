import type { StatusReason } from '../apimachinery/status.ts';
import { CodedError } from '../runtime/errors.ts';

export type DestinationTrust =
  | { readonly kind: 'peer-ca' }
  /** Checked against a bundle of its own (PEM). */
  | { readonly kind: 'ca-bundle'; readonly pem: string };

function isSameTrust(one: DestinationTrust, other: DestinationTrust): boolean {
  if (one.kind !== 'ca-bundle' || other.kind !== 'ca-bundle') return one.kind === other.kind;
  return one.pem === other.pem;
}

export interface Destination {
  readonly kind: 'local' | 'peer';
  readonly id: string;
  /** `https://host:port`, without a path. */
  readonly origin: string;
  /** The name the serving certificate must carry (`kubernetes.default.svc` for peers), at any address. */
  readonly serverName: string;
  readonly trust: DestinationTrust;
}

export function leadsTo(one: Destination, other: Destination): boolean {
  return (
    one.origin === other.origin && one.serverName === other.serverName && isSameTrust(one.trust, other.trust)
  );
}

export type TransportErrorCode =
  /** Name not resolved, connection refused, no route. */
  | 'ConnectFailed'
  /** Handshake failed or the serving certificate was not accepted. */
  | 'TLSFailed'
  /** Connected, then closed or reset before a response began. */
  | 'ConnectionClosed'
  /** Connecting, or waiting for the head of the response, took too long. */
  | 'Timeout'
  /** The client went away. */
  | 'ClientGone'
  /** The response is not valid HTTP, or exceeds the router's limits: 502 when no other server is tried. */
  | 'InvalidResponse'
  /** The request's head exceeds the destination's limit: the response is 431, never tried elsewhere. */
  | 'RequestHeaderFieldsTooLarge'
  /** The request waited for a connection so long that it would be decided otherwise by now: nothing of it was sent. */
  | 'DecisionOutdated';

/** A destination that did not respond. The message may name addresses: for logs, never for clients. */
export class TransportError extends CodedError<TransportErrorCode> {
  override readonly name = 'TransportError';
  /**
   * False only if the destination provably did not process the request: no byte of it arrived, or the destination said so
   * (RFC 9113 section 8.7). Whether the bytes of its body can be sent again is another fact (`canBeSentAgain`).
   */
  readonly mayHaveBeenProcessed: boolean;
  constructor(
    code: TransportErrorCode,
    message: string,
    options: { mayHaveBeenProcessed: boolean; cause?: unknown },
  ) {
    super(code, message, { cause: options.cause });
    this.mayHaveBeenProcessed = options.mayHaveBeenProcessed;
  }
}

/** No connection could be made: refused, no route, TLS failure, dial timeout. The next request would fail as well. */
export function foundNoConnection(error: TransportError): boolean {
  return !error.mayHaveBeenProcessed && ['ConnectFailed', 'TLSFailed', 'Timeout'].includes(error.code);
}

export type NotSentCode =
  /** The caller's identity does not fit into the assertion for this destination. */
  | 'AssertionTooLarge'
  /** This runtime cannot send such a request: its method, its path, or content that it has. */
  | 'NotSendable';

/**
 * A request that could not be made for its destination, for a reason of its own or of this runtime. Nothing was sent: whatever
 * the client did to bring that about, it is no news of the destination.
 */
export class NotSentError extends CodedError<NotSentCode> {
  override readonly name: string = 'NotSentError';
  /** Reason of the Status that the client gets, with `message`. */
  readonly reason: StatusReason;

  constructor(code: NotSentCode, reason: StatusReason, message: string, options?: ErrorOptions) {
    super(code, message, options);
    this.reason = reason;
  }
}
