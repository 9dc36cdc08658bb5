import { rawHeadersOf } from '../../apimachinery/raw-headers.ts';
import { TransportError } from '../../request/destination.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import { type OutboundRequest, passedOnResponse, type Transport } from '../../request/transport.ts';
import { webHeaders } from './worker-headers.ts';
import { WorkerInboundRequest } from './worker-inbound.ts';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

interface FetchSenderOptions {
  /** Sends without a client certificate. Default: the runtime's own `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Sends with the front-proxy certificate: a binding that holds it. Without one, such requests fail closed. */
  readonly frontProxyFetch?: Fetch | undefined;
}

/** Milliseconds until the head of a response must be there, as kube-apiserver's `--request-timeout`. */
const headTimeout = 60_000;

/** RFC 9110 sections 15.3.5 and 15.4.5, Fetch section 2.2.3: responses that have no body. */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/** Sends through `fetch` and resolves with what came, its head alone: for requests and for upgrades. */
export type FetchSender = (
  outbound: OutboundRequest,
  inbound: InboundRequest,
  init: {
    readonly headers: Headers;
    readonly body?: ReadableStream<Uint8Array> | null;
    /** The head may take as long as it likes. Default false. */
    readonly isHeadUnlimited?: boolean;
  },
) => Promise<Response>;

/**
 * Reaches destinations through `fetch`, for runtimes that have nothing else. The TLS name is the host of the
 * destination's address: `fetch` cannot set another, so peers need names that their certificates carry.
 */
export function createFetchSender({
  fetch: plainFetch = (url, init) => fetch(url, init),
  frontProxyFetch,
}: FetchSenderOptions): FetchSender {
  return async (outbound, inbound, { headers, body = null, isHeadUnlimited = false }) => {
    const send = outbound.presentFrontProxyCertificate ? frontProxyFetch : plainFetch;
    // Identity headers on a connection that proves nothing would make the caller anonymous.
    if (send === undefined) throw notSent('no binding holds the front-proxy certificate');
    const limit = new AbortController();
    const timer = isHeadUnlimited ? undefined : setTimeout(() => limit.abort(), headTimeout);
    try {
      return await send(`${outbound.destination.origin}${outbound.target}`, {
        method: outbound.method,
        headers,
        body,
        // A redirect is the destination's response, never followed (CVE-2022-3172).
        redirect: 'manual',
        signal: AbortSignal.any([inbound.signal, limit.signal]),
        // Required for streamed bodies (Fetch section 5.4); not yet in every library's types.
        ...(body === null ? {} : { duplex: 'half' }),
      });
    } catch (cause) {
      const code = inbound.signal.aborted ? 'ClientGone' : limit.signal.aborted ? 'Timeout' : 'ConnectFailed';
      // `fetch` does not tell how far it came.
      throw new TransportError(code, `fetch failed: ${String(cause)}`, {
        mayHaveBeenProcessed: true,
        cause,
      });
    } finally {
      clearTimeout(timer);
    }
  };
}

function notSent(message: string): TransportError {
  return new TransportError('TLSFailed', message, { mayHaveBeenProcessed: false });
}

/** The header lines of an outbound request, lines of one name kept apart where the runtime can. */
export function outboundHeaders({ headers }: OutboundRequest, inbound: InboundRequest): Headers {
  const original = inbound instanceof WorkerInboundRequest ? inbound.request.headers : undefined;
  const written = webHeaders(headers, original);
  // Left out, a runtime asks for codings of its own, and the client would get one that it did not ask for.
  if (!written.has('accept-encoding')) written.set('accept-encoding', 'identity');
  return written;
}

export function createFetchTransport(send: FetchSender): Transport {
  return {
    async send(outbound, inbound, onResponseHead) {
      const headers = outboundHeaders(outbound, inbound);
      // As in the transports of Node and Deno. The handshake of an upgrade is limited there too.
      const isHeadUnlimited = outbound.longRunning;
      const response = await send(outbound, inbound, { headers, body: inbound.body(), isHeadUnlimited });
      const { status } = response;
      const disposition = onResponseHead({ status, headers: rawHeadersOf(response.headers) });
      if (disposition.kind === 'replace') {
        await response.body?.cancel();
        return disposition.outcome;
      }
      const clientHeaders = webHeaders(disposition.headers, response.headers);
      // A front that compresses on the way (wrangler's, a CDN) would hold a watch back to fill its buffer.
      if (outbound.longRunning && !clientHeaders.has('content-encoding'))
        clientHeaders.set('content-encoding', 'identity');
      const body = withoutBody.has(status) ? null : response.body;
      // A compressed body is passed on as it came: workerd does not decode a body that moves between Responses.
      return passedOnResponse(new Response(body, { status, headers: clientHeaders }));
    },
  };
}
