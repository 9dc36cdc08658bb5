/** The head of a destination's response has been written to the client's connection, and what follows it will be. */
export interface Sent {
  readonly kind: 'sent';
  readonly status: number;
}

/** A response that its receiver has to send. */
export interface ResponseToSend {
  readonly kind: 'response';
  readonly response: Response;
  /** It is a destination's, with the audit ID that it had there; else the router's own. */
  readonly isPassedOn: boolean;
}

/** What becomes of a request. */
export type Outcome = Sent | ResponseToSend;

/**
 * A server's word that it did nothing, by the head of its response, so that another one can be asked. `NotServed`: it does
 * not have what the snapshot says it serves. `Unavailable`: it ends, or is down behind its router.
 */
export interface Refusal {
  readonly kind: 'refusal';
  readonly reason: 'NotServed' | 'Unavailable';
  /** False where, by its length, it may as well say that the object does not exist. */
  readonly isCertain: boolean;
  /** A copy of the server's own response, for a client for whom there is no other server. */
  readonly response: Response;
}

/** What a destination made of a request. */
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

/**
 * A response that the router made itself.
 *
 * @example
 * ```ts
 * console.log(ownResponse(new Response(null, { status: 503 })).isPassedOn); // false
 * ```
 */
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

/** What a fetch handler returns for a response that was sent: the runtime's adapter, which has sent it, drops this one. */
const placeholder = new Response(null);

export function responseOf(result: SendResult): Response {
  return result.kind === 'sent' ? placeholder : result.response;
}
