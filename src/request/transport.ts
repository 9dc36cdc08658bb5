import type { RawHeaders } from '../apimachinery/raw-headers.ts';
import type { Destination } from './destination.ts';
import type { InboundRequest } from './inbound.ts';
import type { Refusal, ResponseToSend, SendResult } from './outcome.ts';
import type { ByteCounter } from './request-record.ts';

/** A request that is ready to leave: hygiene done, identity stamped. Only `buildOutboundRequest` makes one. */
export interface OutboundRequest {
  readonly destination: Destination;
  readonly method: string;
  /** The request target, byte for byte as it was received. */
  readonly target: string;
  readonly headers: RawHeaders;
  /**
   * Present the front-proxy client certificate, so that the destination believes the X-Remote headers.
   * False for callers that the router did not authenticate, whose own credentials speak for them, and where a
   * signed token names the caller.
   */
  readonly presentFrontProxyCertificate: boolean;
  /** Watch, log, exec and the like: never cut for being quiet. */
  readonly longRunning: boolean;
  /** An application behind the API server responds: that its response breaks off is no news of the server itself. */
  readonly passesThrough?: boolean;
  /** Its response is a stream of watch events, which can be ended between two of them. */
  readonly isWatch?: boolean;
  /**
   * For a watch: whether it would now go to a server of another version. A transport that supports it then ends the
   * watch between two events, and its client resumes from there. Left out: the watch stays.
   */
  readonly isMisplaced?: (() => boolean) | undefined;
  /**
   * Of a read: whether another destination could be asked, now that this one has been silent for long. While it returns
   * false, the router keeps waiting. Left out: none could.
   */
  readonly othersLeft?: (() => boolean) | undefined;
  /** A 404 by which the destination denies to have the path (`denialOf`) is to be told to `Router.deliver`. Default false. */
  readonly mayBeDenied?: boolean | undefined;
}

/** Head of a response: code and header lines as the destination sent them. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: RawHeaders;
}

/** How a response is handled, decided by its head alone. */
type ResponseDisposition =
  /** Pass it on with these header lines. A transport that handles the body reports its size to `bytes`. */
  | { readonly kind: 'forward'; readonly headers: RawHeaders; readonly bytes?: ByteCounter | undefined }
  /** Drop the destination's response, pass on none of its body, and resolve with this instead. */
  | { readonly kind: 'replace'; readonly outcome: ResponseToSend | Refusal };

export type OnResponseHead = (head: ResponseHead) => ResponseDisposition;

/** Reaches destinations. Each runtime brings its own; tests bring one that records. */
export interface Transport {
  /**
   * Sends one request once and resolves with the destination's response (`passedOnResponse`), streamed, its body untouched
   * (compressed stays compressed, redirects are not followed); or with `sent`, once it has written the head of it to the
   * client itself.
   * @throws {TransportError} when no head of a response arrived. A body that breaks off later breaks the
   *   client's stream instead.
   */
  send(
    outbound: OutboundRequest,
    inbound: InboundRequest,
    onResponseHead: OnResponseHead,
  ): Promise<SendResult>;
}
