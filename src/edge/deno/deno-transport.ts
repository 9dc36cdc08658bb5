import { headerLines, type RawHeaders, rawHeadersOf } from '../../apimachinery/raw-headers.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { OutboundRequest, Transport } from '../../request/transport.ts';
import { TransportError } from '../../request/transport-error.ts';
import type { DenoHttpClient } from './deno-runtime.ts';

/** `fetch` as Deno has it: with a client, and with header lines as pairs. */
export type DenoFetch = (
  url: string,
  init: {
    readonly client: DenoHttpClient;
    readonly method: string;
    readonly headers: [name: string, value: string][];
    readonly body: ReadableStream<Uint8Array> | null;
    readonly redirect: 'manual';
    readonly signal: AbortSignal;
    readonly duplex?: 'half';
  },
) => Promise<Response>;

export interface DenoTransportOptions {
  /** Connects without a client certificate. */
  readonly client: DenoHttpClient;
  /** Connects with the front-proxy certificate. Without one, requests that need it fail closed. */
  readonly frontProxyClient?: DenoHttpClient | undefined;
  readonly fetch: DenoFetch;
  /**
   * Milliseconds until the head of a response, as kube-apiserver's `--request-timeout`; long-running requests have
   * none. Default 60,000.
   */
  readonly headTimeout?: number;
}

/**
 * Reaches destinations through Deno's `fetch`, HTTP/2 or HTTP/1.1. The TLS name is the host of the destination's
 * address: `fetch` can set no other, so peers need addresses that their certificates carry.
 */
export function createDenoTransport(options: DenoTransportOptions): Transport {
  const { client, frontProxyClient, fetch: denoFetch, headTimeout = 60_000 } = options;
  return {
    async send(outbound, inbound, onResponseHead) {
      const chosen = outbound.presentFrontProxyCertificate ? frontProxyClient : client;
      if (chosen === undefined) {
        // Identity headers on a connection that proves nothing would make the caller anonymous.
        throw unsent('TLSFailed', 'there is no front-proxy certificate');
      }
      if (outbound.destination.trust.kind !== 'peer-ca') {
        throw unsent('TLSFailed', 'extension API servers are reached through the local server here');
      }
      const body = inbound.body();
      const limit = new AbortController();
      const timer = outbound.longRunning ? undefined : setTimeout(() => limit.abort(), headTimeout);
      let response: Response;
      try {
        response = await denoFetch(`${outbound.destination.origin}${outbound.target}`, {
          client: chosen,
          method: outbound.method,
          headers: linesToSend(outbound),
          body,
          // A redirect is the destination's response, never followed (CVE-2022-3172).
          redirect: 'manual',
          signal: outbound.longRunning ? inbound.signal : AbortSignal.any([inbound.signal, limit.signal]),
          // Required for streamed bodies (Fetch section 5.4).
          ...(body === null ? {} : { duplex: 'half' as const }),
        });
      } catch (error) {
        throw transportError(error, inbound, limit.signal.aborted);
      } finally {
        clearTimeout(timer);
      }
      const disposition = onResponseHead({
        status: response.status,
        headers: rawHeadersOf(response.headers),
      });
      if (disposition.kind === 'replace') {
        await response.body?.cancel();
        return disposition.response;
      }
      return new Response(response.body, {
        status: response.status,
        headers: pairsOf(disposition.headers),
      });
    },
  };
}

/**
 * The lines as pairs, never as a `Headers` object: that would join repeated ones, and the groups `a` and `b` would
 * arrive as the group `a, b`.
 *
 * Compression is never asked for, whatever the client said. Deno decodes responses unless the request says exactly
 * `identity`, and leaves the coding and the length of the coded body in their heads: clients would find another body
 * than the head announces. A response that is compressed all the same passes as it came.
 */
function linesToSend({ headers }: OutboundRequest): [string, string][] {
  const lines = pairsOf(headers).filter(([name]) => name.toLowerCase() !== 'accept-encoding');
  lines.push(['accept-encoding', 'identity']);
  return lines;
}

function pairsOf(headers: RawHeaders): [name: string, value: string][] {
  return [...headerLines(headers)].map(([name, value]) => [name, value]);
}

function transportError(error: unknown, inbound: InboundRequest, timedOut: boolean): TransportError {
  const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
  const message = `fetch failed: ${reason}`;
  // The words of hyper-util, on which Deno's fetch is built: `Connect` is all that comes before the first byte. A
  // change of words costs the second try, no more.
  if (reason.includes('client error (Connect)')) {
    return unsent(/certificate|tls|handshake/i.test(reason) ? 'TLSFailed' : 'ConnectFailed', message, error);
  }
  const code = timedOut ? 'Timeout' : inbound.signal.aborted ? 'ClientGone' : 'ConnectionClosed';
  return new TransportError(code, message, { requestMayHaveArrived: true, cause: error });
}

function unsent(code: 'ConnectFailed' | 'TLSFailed', message: string, cause?: unknown): TransportError {
  return new TransportError(code, message, { requestMayHaveArrived: false, cause });
}
