import { headerLines, type RawHeaders, rawHeadersOf } from '../apimachinery/raw-headers.ts';
import { type Destination, TransportError } from './destination.ts';
import type { InboundRequest, RequestRecord } from './inbound.ts';

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
  /** True if the response is a stream of watch events, which can be ended between two of them. */
  readonly isWatch?: boolean;
  /**
   * True if a watch would now go to a server of another version. A transport that supports it then ends the watch
   * between two events, and its client resumes from there.
   */
  readonly isMisplaced?: (() => boolean) | undefined;
  /**
   * True while what a watch brings may be of the version before: this process stood still. A transport that supports it asks this
   * before it passes an event on, and ends the watch instead.
   */
  readonly isOfBefore?: (() => boolean) | undefined;
  /**
   * True if another destination could be asked for a read, now that this one has been silent for long. While it returns
   * false, the router keeps waiting. Left out: none could.
   */
  readonly othersLeft?: (() => boolean) | undefined;
  /**
   * True if the request would still be sent to this destination. A transport that opens connections asks this of a
   * request that has waited for a connection, before the first byte: another process may answer there by then. False:
   * the request fails as `DecisionOutdated`. Left out: nothing that the request was decided by can change.
   */
  readonly stillHolds?: (() => boolean) | undefined;
  /** A 404 by which the destination says that it does not serve the path is to be told to the router, which asks another one. Default false. */
  readonly othersMayServe?: boolean | undefined;
}

export interface ResponseHead {
  readonly status: number;
  readonly headers: RawHeaders;
}

export type FinalDisposition =
  /**
   * Pass it on with these header lines. A transport that writes it to the client itself tells `record` that the client has a
   * response, once the head is written, and reports the size of the body to its `responseBytes`.
   */
  | {
      readonly kind: 'forward';
      readonly headers: RawHeaders;
      readonly record?: Pick<RequestRecord, 'responded' | 'responseBytes'> | undefined;
    }
  /** Drop the destination's response, pass on none of its body, and resolve with this instead. */
  | { readonly kind: 'replace'; readonly outcome: ResponseToSend | Refusal };

type ResponseDisposition =
  | FinalDisposition
  /** Read the content, which is short by its `Content-Length`, and ask again; forwarded, the response has that content. */
  | {
      readonly kind: 'read';
      readonly length: number;
      readonly judge: (content: Uint8Array) => FinalDisposition;
    };

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
  /** True for the response of a destination, with the audit ID that it had there; false for the router's own. */
  readonly isPassedOn: boolean;
}

export type Outcome = Sent | ResponseToSend;

/**
 * A server's word that it did nothing, so that another one can be asked. `NotServed`: it does not serve the path. `Unavailable`:
 * it starts or ends, or is down behind its router.
 */
export interface Refusal {
  readonly kind: 'refusal';
  readonly reason: 'NotServed' | 'Unavailable';
  /** A copy of the server's own response, for a client for whom there is no other server. */
  readonly response: Response;
}

export type SendResult = Outcome | Refusal;

/**
 * The result of a transport once it has written the head of a response to the client itself.
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

/** RFC 9110 sections 15.3.5 and 15.4.5, Fetch section 2.2.3: responses that have no body. */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * For a transport whose destinations respond with a web `Response`: asks `onResponseHead`, and does what it says.
 * @param clientHeaders the response's header lines in the form that the client gets
 * @throws {TransportError} when content that is read before the decision breaks off
 *
 * @example
 * ```ts
 * const result = await judgedResponse(new Response('of the server'), ({ headers }) => ({ kind: 'forward', headers }));
 * console.log(result.kind); // response
 * ```
 */
export async function judgedResponse(
  response: Response,
  onResponseHead: OnResponseHead,
  clientHeaders: (lines: RawHeaders) => Headers = plainHeaders,
): Promise<SendResult> {
  const { status } = response;
  let content: Uint8Array<ArrayBuffer> | undefined;
  let disposition = onResponseHead({ status, headers: rawHeadersOf(response.headers) });
  if (disposition.kind === 'read') {
    content = await contentOf(response);
    disposition = disposition.judge(content);
  }
  if (disposition.kind === 'replace') {
    if (content === undefined) await response.body?.cancel();
    return disposition.outcome;
  }
  const body = withoutBody.has(status) ? null : (content ?? response.body);
  return passedOnResponse(new Response(body, { status, headers: clientHeaders(disposition.headers) }));
}

/** @throws {TransportError} when it breaks off */
export async function contentOf(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (cause) {
    const message = `the response broke off: ${String(cause)}`;
    throw new TransportError('ConnectionClosed', message, { mayHaveBeenProcessed: true, cause });
  }
}

function plainHeaders(lines: RawHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of headerLines(lines)) headers.append(name, value);
  return headers;
}

/** Hono's mark of a response that is on its way already (@hono/node-server, `RESPONSE_ALREADY_SENT`): adapters drop this one. */
const alreadySent = new Response(null, { headers: { 'x-hono-already-sent': 'true' } });

/** @returns what a fetch handler returns for `result` */
export function responseOf(result: SendResult): Response {
  return result.kind === 'sent' ? alreadySent : result.response;
}
