import { NotSentError } from '../../request/destination.ts';
import type { UserInfo } from '../../request/user-info.ts';

export interface AssertionRequest {
  readonly user: UserInfo;
  readonly destinationId: string;
  readonly method: string;
  readonly target: string;
  readonly rerouted: boolean;
}

/** Makes the assertion for one request to one destination, which stands in for X-Remote headers there. */
export interface AssertionSigner {
  /** @throws {AssertionTooLargeError} (rejects) when no header line can carry the identity */
  sign(request: AssertionRequest): Promise<string>;
}

/**
 * Characters of an assertion. Node's HTTP/2 takes no header value above 64 KiB (nghttp2, NGHTTP2_HD_MAX_NV), and a
 * user in 1,000 groups has to get through.
 */
export const maximumAssertionLength = 60_000;

/** Thrown for an identity that no header line can carry. */
export class AssertionTooLargeError extends NotSentError {
  override readonly name = 'AssertionTooLargeError';
  constructor() {
    super(
      'AssertionTooLarge',
      'RequestEntityTooLarge',
      `the caller's groups and extra values and the request path do not fit into an assertion of ${maximumAssertionLength} characters: use fewer groups or a shorter path`,
    );
  }
}
