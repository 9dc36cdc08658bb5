import type { RawHeaders } from '../apimachinery/raw-headers.ts';
import type { Destination } from './destination.ts';
import type { ByteCounter, InboundRequest } from './inbound.ts';

/** Hygiene done, identity stamped. Only `buildOutboundRequest` makes one. */
export interface OutboundRequest {
  readonly destination: Destination;
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  /**
   * Present the front-proxy client certificate, so that the destination believes the X-Remote headers. False for callers whose
   * own credentials speak for them, and where a signed assertion names the caller.
   */
  readonly presentFrontProxyCertificate: boolean;
  /** Watch, log, exec and the like: never cut for being quiet. */
  readonly longRunning: boolean;
  /** An application behind the API server responds: that it breaks off is no news of the server. */
  readonly passesThrough?: boolean;
  /** Its response is a stream of watch events, which can be ended between two of them. */
  readonly isWatch?: boolean;
  /**
   * Whether a watch would now go to a server of another version. A transport that supports it then ends the watch between two
   * events, and its client resumes from there.
   */
  readonly isMisplaced?: (() => boolean) | undefined;
  /**
   * Of a read: whether another destination could be asked, now that this one has been silent for long. While it returns
   * false, the router keeps waiting. Left out: none could.
   */
  readonly othersLeft?: (() => boolean) | undefined;
  /** A 404 by which the destination says that it does not serve the path is to be told to `Router.deliver`. Default false. */
  readonly othersMayServe?: boolean | undefined;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: RawHeaders;
}

type ResponseDisposition =
  /** Pass it on with these header lines. A transport that handles the body reports its size to `bytes`. */
  | { readonly kind: 'forward'; readonly headers: RawHeaders; readonly bytes?: ByteCounter | undefined }
  /** Drop the destination's response, pass on none of its body, and resolve with this instead. */
  | { readonly kind: 'replace'; readonly outcome: ResponseToSend | Refusal };

export type OnResponseHead = (head: ResponseHead) => ResponseDisposition;

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

/** The head of a destination's response has been written to the client's connection, and what follows it will be. */
export interface Sent {
  readonly kind: 'sent';
  readonly status: number;
}

export interface ResponseToSend {
  readonly kind: 'response';
  readonly response: Response;
  /** It is a destination's, with the audit ID that it had there; else the router's own. */
  readonly isPassedOn: boolean;
}

export type Outcome = Sent | ResponseToSend;

/**
 * A server's word that it did nothing, by the head of its response, so that another one can be asked. `NotServed`: it does not
 * serve the path. `Unavailable`: it ends, or is down behind its router.
 */
export interface Refusal {
  readonly kind: 'refusal';
  readonly reason: 'NotServed' | 'Unavailable';
  /** False where, by its length, it may as well say that the object does not exist. */
  readonly isCertain: boolean;
  /** A copy of the server's own response, for a client for whom there is no other server. */
  readonly response: Response;
}

export type SendResult = Outcome | Refusal;

/**
 * What a transport resolves with once it has written the head of a response to the client itself.
 *
 * @example
 * ```ts
 * console.log(sent(200).kind); // sent
 * ```
 */
export function sent(status: number): Sent {
  return { kind: 'sent', status };
}

/** A response that the router made itself. */
export function ownResponse(response: Response): ResponseToSend {
  return { kind: 'response', response, isPassedOn: false };
}

/**
 * A destination's response: what a transport resolves with.
 *
 * @example
 * ```ts
 * console.log(passedOnResponse(new Response('of the server')).isPassedOn); // true
 * ```
 */
export function passedOnResponse(response: Response): ResponseToSend {
  return { kind: 'response', response, isPassedOn: true };
}

/** The runtime's adapter drops this one, which it knows by a header of @hono/node-server's. */
export const sentElsewhere = new Response(null, { headers: { 'x-hono-already-sent': 'true' } });

export function responseOf(result: SendResult): Response {
  return result.kind === 'sent' ? sentElsewhere : result.response;
}
