import { headerLines, rawHeadersOf } from '../apimachinery/raw-headers.ts';
import { type Transport, TransportError } from '../proxy/transport.ts';

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface FetchTransportOptions {
  /** Sends without a client certificate. Default: the runtime's own `fetch`. */
  readonly fetch?: Fetch;
  /** Sends with the front-proxy certificate: a binding that holds it. Without one, such requests fail closed. */
  readonly frontProxyFetch?: Fetch | undefined;
}

/**
 * Reaches destinations through `fetch`, for runtimes that have nothing else. The TLS name is the host of the
 * destination's address: `fetch` cannot set another, so peers need names that their certificates carry.
 */
export function createFetchTransport(options: FetchTransportOptions = {}): Transport {
  const { fetch: plainFetch = (url, init) => fetch(url, init), frontProxyFetch } = options;
  return {
    async send(outbound, inbound, onResponseHead) {
      const send = outbound.presentFrontProxyCertificate ? frontProxyFetch : plainFetch;
      if (send === undefined) {
        // Identity headers on a connection that proves nothing would turn the caller into nobody.
        throw new TransportError('TLSFailed', 'no binding holds the front-proxy certificate', {
          requestMayHaveArrived: false,
        });
      }
      const headers = new Headers();
      for (const [name, value] of headerLines(outbound.headers)) headers.append(name, value);
      const body = inbound.body();
      const response = await send(`${outbound.destination.origin}${outbound.target}`, {
        method: outbound.method,
        headers,
        body,
        // A redirect is the destination's answer, never followed (CVE-2022-3172).
        redirect: 'manual',
        signal: inbound.signal,
        // Required for streamed bodies (Fetch section 5.4); not yet in every library's types.
        ...(body === null ? {} : { duplex: 'half' }),
      }).catch((error: unknown) => {
        const code = inbound.signal.aborted ? 'ClientGone' : 'ConnectFailed';
        // `fetch` does not tell how far it came.
        throw new TransportError(code, `fetch failed: ${String(error)}`, {
          requestMayHaveArrived: true,
          cause: error,
        });
      });
      const disposition = onResponseHead({
        status: response.status,
        headers: rawHeadersOf(response.headers),
      });
      if (disposition.kind === 'replace') {
        await response.body?.cancel();
        return disposition.response;
      }
      const answered = new Headers();
      for (const [name, value] of headerLines(disposition.headers)) answered.append(name, value);
      return new Response(response.body, { status: response.status, headers: answered });
    },
  };
}
