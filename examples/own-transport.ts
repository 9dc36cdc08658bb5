/** A transport over `fetch`, for a runtime that has nothing else. */
import { judgedResponse, type Transport, TransportError } from '../src/index.ts';

/** The part of `fetch` that is used; on Workers, that of an mTLS binding. */
export type Fetch = (request: Request) => Promise<Response>;

/**
 * `fetch` joins header lines of one name and unpacks answers: good enough for a test or a simple service, and the
 * reason why the router's own transports do not use it where they need not.
 */
export function fetchTransport(fetchFromPeer: Fetch): Transport {
  return {
    async send(outbound, inbound, onResponseHead) {
      const { destination, method, target, headers } = outbound;
      const lines = new Headers();
      for (let at = 0; at + 1 < headers.length; at += 2)
        lines.append(headers[at] ?? '', headers[at + 1] ?? '');
      const body = inbound.body();
      const request = new Request(`${destination.origin}${target}`, {
        method,
        headers: lines,
        body,
        // Answers of a peer pass through, redirects too.
        redirect: 'manual',
        signal: inbound.signal,
        ...(body === null ? {} : { duplex: 'half' }),
      });
      const response = await fetchFromPeer(request).catch((cause: unknown) => {
        // `fetch` does not tell whether anything was sent: only what may be sent twice gets a second try.
        throw new TransportError('ConnectFailed', `no answer from ${destination.id}`, {
          mayHaveBeenProcessed: true,
          cause,
        });
      });
      return judgedResponse(response, onResponseHead);
    },
  };
}
