import type { UserInfo } from '../../request/user-info.ts';
import { CodedError } from '../../runtime/coded-error.ts';

/**
 * How a destination is told who calls: `X-Remote-*` headers over a connection with the front-proxy certificate, or
 * a peer assertion in a header of its own.
 */
export const identityModes = ['front-proxy', 'assertion'] as const;
export type IdentityMode = (typeof identityModes)[number];

/** A signed statement about the caller, which stands in for the X-Remote headers of one request. */
export interface IdentityToken {
  readonly kind: Exclude<IdentityMode, 'front-proxy'>;
  /** Compact JWS. */
  readonly text: string;
}

/** What a token is about. */
export interface IdentityTokenRequest {
  readonly user: UserInfo;
  /** API server ID of the destination. */
  readonly destinationId: string;
  readonly method: string;
  /** The request target as it will be sent, byte for byte. */
  readonly target: string;
  /** The request goes out with the reroute mark: the destination must not send it on. */
  readonly rerouted: boolean;
}

/** Makes the token for one request to one destination. */
export interface IdentityTokenSigner {
  /** @throws {IdentityTokenError} when no token can carry the identity. */
  sign(request: IdentityTokenRequest): Promise<IdentityToken>;
}

/** Who signs for which kind of destination. Left out: X-Remote headers over a front-proxy connection. */
export interface IdentityTokenSigners {
  readonly local?: IdentityTokenSigner | undefined;
  readonly peer?: IdentityTokenSigner | undefined;
}

/**
 * Characters of a token. Node's HTTP/2 takes no header value above 64 KiB (nghttp2, NGHTTP2_HD_MAX_NV), and a
 * user in 1,000 groups has to get through.
 */
export const maximumTokenLength = 60_000;

export type IdentityTokenErrorCode =
  /** The token would not fit into a header line. */
  'TooLarge';

/** Thrown for an identity that no token can carry. The request has not been sent. */
export class IdentityTokenError extends CodedError<IdentityTokenErrorCode> {
  override readonly name = 'IdentityTokenError';
}

/** @throws {IdentityTokenError} `TooLarge` */
export function checkTokenLength(text: string): void {
  if (text.length <= maximumTokenLength) return;
  throw new IdentityTokenError(
    'TooLarge',
    `the caller's groups and extra values and the request path do not fit into an identity token of ${maximumTokenLength} characters: use fewer groups or a shorter path`,
  );
}
