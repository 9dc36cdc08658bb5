import { allHeaders } from '../apimachinery/raw-headers.ts';
import { errorMessage } from '../runtime/errors.ts';
import { NotSentError, TransportError, type TransportErrorCode } from './destination.ts';
import { auditIdHeader } from './headers.ts';
import type { InboundContent, InboundRequest } from './inbound.ts';
import { judgedResponse, type OutboundRequest, type Transport } from './transport.ts';
import { webHeaders } from './web-headers.ts';

export type Fetch = (request: Request) => Promise<Response>;

export interface FetchOptions {
  /** For all other requests. Default: the global `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Over connections that present the front-proxy certificate. Default: there is none. */
  readonly frontProxyFetch?: Fetch | undefined;
}

/** Milliseconds until the head of a response must be there, as kube-apiserver's `--request-timeout`. */
const headTimeout = 60_000;

/** Sends a request with these header lines. @throws {TransportError | NotSentError} (rejects) when there is no response */
export type FetchSender = (
  outbound: OutboundRequest,
  inbound: InboundRequest,
  headers: Headers,
) => Promise<Response>;

/**
 * The TLS name is the host of the destination's address: `fetch` cannot set another, so peers need names that their
 * certificates carry.
 */
export function createFetchSender({
  fetch: plainFetch = (request) => fetch(request),
  frontProxyFetch,
}: FetchOptions): FetchSender {
  return async (outbound, inbound, headers) => {
    const send = outbound.presentFrontProxyCertificate ? frontProxyFetch : plainFetch;
    // Identity headers on a connection that proves nothing would make the caller anonymous.
    if (send === undefined) throw new Error('no binding holds the front-proxy certificate');
    const content = await contentOf(inbound);
    const limit = new AbortController();
    const signal = AbortSignal.any([inbound.signal, limit.signal]);
    const request = requestToSend(outbound, inbound, { headers, signal, ...content });
    const timer = outbound.longRunning ? undefined : setTimeout(() => limit.abort(), headTimeout);
    try {
      const response = await send(request);
      const failure = failureOfPlatform(response);
      if (failure === undefined) return response;
      await response.body?.cancel();
      throw failure;
    } catch (error) {
      if (error instanceof TransportError) throw error;
      if (inbound.signal.aborted) throw noResponse('ClientGone', error);
      throw limit.signal.aborted ? noResponse('Timeout', error) : failureOfFetch(error, content);
    } finally {
      clearTimeout(timer);
    }
  };
}

interface Content {
  readonly body: InboundContent;
}

async function contentOf(inbound: InboundRequest): Promise<Content> {
  if (inbound.contentToSend === undefined) return { body: inbound.body() };
  try {
    return { body: await inbound.contentToSend() };
  } catch (cause) {
    const message = 'the client broke its request off';
    throw new TransportError('ClientGone', message, { mayHaveBeenProcessed: false, cause });
  }
}

type SentInit = Content & { readonly headers: Headers; readonly signal: AbortSignal };

/**
 * Apart from sending it: what cannot be made was not sent, and a server that was never asked must not be taken for one that
 * does not respond. Anybody could have it avoided else.
 * @throws {NotSentError}
 */
function requestToSend(
  { destination: { origin }, method, target }: OutboundRequest,
  inbound: InboundRequest,
  { headers, signal, body }: SentInit,
): Request {
  const url = `${origin}${target}`;
  const init: RequestInit = {
    headers,
    signal,
    // A redirect is the destination's response, never followed (CVE-2022-3172).
    redirect: 'manual',
    // The API server says each time who may see a response. A platform's `fetch` has a cache on the way.
    cache: 'no-store',
    // Required for streamed bodies (Fetch section 5.4); not yet in every library's types.
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  };
  const isRead = method === 'GET' || method === 'HEAD';
  const hasContent = body !== null;
  let request: Request;
  try {
    // By the standard a read has no content; workerd passes on what has come with one (RFC 9110 section 9.3.1).
    const asItCame = isRead && hasContent && inbound.web?.body ? inbound.web : undefined;
    request =
      asItCame === undefined
        ? new Request(url, { ...init, method, body })
        : new Request(new Request(url, asItCame as RequestInit), init);
  } catch (cause) {
    const message =
      isRead && hasContent
        ? `this router runs on a runtime whose fetch sends no content with ${method}: send the request without content`
        : `this router runs on a runtime whose fetch cannot send this request: its method, its path or one of its header lines`;
    throw new NotSentError('NotSendable', 'BadRequest', message, { cause });
  }
  if (request.url.endsWith(target)) return request;
  // A signed assertion names the path, and the path that was decided on is the one to send.
  throw new NotSentError(
    'NotSendable',
    'BadRequest',
    'this router runs on a runtime whose fetch would write the path of this request in another way: percent-encode it',
  );
}

function noResponse(code: TransportErrorCode, cause: unknown, mayHaveBeenProcessed = true): TransportError {
  return new TransportError(code, `fetch failed: ${errorMessage(cause)}`, { mayHaveBeenProcessed, cause });
}

/** Errors that Workers VPC throws before anything is sent (developers.cloudflare.com/workers-vpc/reference/troubleshooting). */
const neverConnected = /\b(?:connection_refused|dns_error)\b/;
/** A limit of the platform on the Worker's own requests. */
const ownLimit = /too many subrequests/i;

/**
 * `fetch` seldom tells how far it came. While the client still sends, the failure may be the client's, which must not count
 * against the server.
 */
function failureOfFetch(error: unknown, { body }: Content): unknown {
  const message = errorMessage(error);
  if (ownLimit.test(message)) return error;
  if (neverConnected.test(message)) return noResponse('ConnectFailed', error, false);
  return noResponse(body instanceof ReadableStream ? 'ConnectionClosed' : 'ConnectFailed', error);
}

/** Status codes of Cloudflare itself about a server that it could not ask, and whether the server may have been asked. */
const platformFailures: ReadonlyMap<number, readonly [TransportErrorCode, boolean]> = new Map([
  [520, ['InvalidResponse', true]],
  [521, ['ConnectFailed', false]],
  [522, ['Timeout', true]],
  [523, ['ConnectFailed', false]],
  [524, ['Timeout', true]],
  [525, ['TLSFailed', false]],
  [526, ['TLSFailed', false]],
  [530, ['ConnectFailed', false]],
]);

/**
 * On Cloudflare a server that is down is a response of the platform, not an error
 * (developers.cloudflare.com/support/troubleshooting/http-status-codes). What comes from an API server, or from an application
 * behind it, has an audit ID (k8s.io/apiserver pkg/endpoints/filters/audit_init.go).
 */
function failureOfPlatform({ status, headers }: Response): TransportError | undefined {
  const failure = platformFailures.get(status);
  if (failure === undefined || headers.get('server') !== 'cloudflare' || headers.has(auditIdHeader))
    return undefined;
  const [code, mayHaveBeenProcessed] = failure;
  return new TransportError(code, `the platform responded with ${status}`, { mayHaveBeenProcessed });
}

/** The header lines of an outbound request, lines of one name kept apart where the runtime can. */
export function outboundHeaders({ headers }: OutboundRequest, inbound: InboundRequest): Headers {
  const written = webHeaders(headers, inbound.web?.headers);
  // Left out, a runtime asks for codings of its own, and the client would get one that it did not ask for.
  if (!written.has('accept-encoding')) written.set('accept-encoding', 'identity');
  return written;
}

/**
 * Reaches destinations by `fetch`: on Workers-compatible runtimes, and wherever there is nothing else.
 *
 * A client certificate needs a `fetch` of its own (`frontProxyFetch`). Lines of one name stay apart where the runtime keeps them
 * apart: elsewhere give the router an `assertionSigner`.
 *
 * @example
 * ```ts
 * const transport = createFetchTransport({ fetch: async () => Response.json({ kind: 'PodList', items: [] }) });
 * const app = createApp({ local, routingTable: receiver, transport });
 * console.log((await app.fetch(new Request('https://router.example/version'))).status); // 200
 * ```
 */
export function createFetchTransport(options: FetchOptions = {}): Transport {
  return transportOf(createFetchSender(options));
}

export function transportOf(send: FetchSender): Transport {
  return {
    async send(outbound, inbound, onResponseHead) {
      const response = await send(outbound, inbound, outboundHeaders(outbound, inbound));
      return judgedResponse(response, onResponseHead, (lines) => {
        const clientHeaders = webHeaders(lines, response.headers);
        if (outbound.longRunning && acceptsCompression(inbound)) keepFromBeingCompressed(clientHeaders);
        // A compressed body is passed on as it came: workerd does not decode a body that moves between Responses.
        return clientHeaders;
      });
    },
  };
}

function acceptsCompression({ headers }: InboundRequest): boolean {
  return allHeaders(headers, 'accept-encoding').some((codings) =>
    /[a-z]/.test(codings.replaceAll('identity', '')),
  );
}

/**
 * A front that compresses on the way (wrangler's, a CDN) would hold a watch back to fill its buffer. A coding named `identity`
 * should not be sent (RFC 9110 section 8.4.1), and is all that stops such a front.
 */
function keepFromBeingCompressed(headers: Headers): void {
  if (!headers.has('content-encoding')) headers.set('content-encoding', 'identity');
}
