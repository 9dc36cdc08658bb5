import { headerLines, type RawHeaders, rawHeadersOf } from '../../apimachinery/raw-headers.ts';
import { TransportError } from '../../request/destination.ts';
import { defaultIdentityHeaderNames, identityHeaderMatcher } from '../../request/headers.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import { type OutboundRequest, passedOnResponse, type Transport } from '../../request/transport.ts';
import { WorkerInboundRequest } from './worker-inbound.ts';

const isIdentityHeader = identityHeaderMatcher(defaultIdentityHeaderNames);

/**
 * Web `Headers` with exactly `lines`. Reading `Headers` joins lines of one name by commas, and a joined
 * `Impersonate-Group: a, b` is another group; copying them keeps lines apart on workerd. So what is left as it came is copied,
 * and only what differs is written anew, line by line.
 * @param original the headers that `lines` were read from; `undefined` where there are none
 */
export function webHeaders(lines: RawHeaders, original: Headers | undefined): Headers {
  const headers = new Headers(original);
  const wanted = new Map<string, string[]>();
  for (const [name, value] of headerLines(lines)) {
    const lowerCaseName = name.toLowerCase();
    const values = wanted.get(lowerCaseName);
    if (values === undefined) wanted.set(lowerCaseName, [value]);
    else values.push(value);
  }
  for (const name of new Set(original?.keys())) {
    const values = wanted.get(name);
    // Set-Cookie alone is told apart when it is read (Fetch section 2.2.2): it is written anew.
    // An identity is always written by us: a client's two lines `a` and `b` read the same as our one line `a, b`.
    const isAsItCame = values?.length === 1 && values[0] === original?.get(name) && !isIdentityHeader(name);
    if (isAsItCame) wanted.delete(name);
    else headers.delete(name);
  }
  for (const [name, values] of wanted) {
    for (const value of values) headers.append(name, headersHoldText ? textOf(value) : value);
  }
  return headers;
}

/**
 * Whether this runtime's `Headers` hold text, written as UTF-8: workerd's do. By the standard they hold byte strings
 * and throw at what is none (Fetch section 2.2), and a byte string written as text would be encoded twice: a user
 * with an umlaut in the name would arrive as somebody else.
 */
const headersHoldText = holdText();

function holdText(): boolean {
  try {
    new Headers([['x', '\u0100']]);
    return true;
  } catch {
    return false;
  }
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const plain = /^[\0-\x7f]*$/;
const byteString = /^[\0-\xff]*$/;

function textOf(value: string): string {
  if (plain.test(value) || !byteString.test(value)) return value;
  try {
    return decoder.decode(Uint8Array.from(value, (character) => character.charCodeAt(0)));
  } catch {
    return value;
  }
}

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

interface FetchSenderOptions {
  readonly fetch?: Fetch | undefined;
  /** Sends with the front-proxy certificate: a binding that holds it. Without one, such requests fail closed. */
  readonly frontProxyFetch?: Fetch | undefined;
}

/** Milliseconds until the head of a response must be there, as kube-apiserver's `--request-timeout`. */
const headTimeout = 60_000;

/** RFC 9110 sections 15.3.5 and 15.4.5, Fetch section 2.2.3: responses that have no body. */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

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
 * The TLS name is the host of the destination's address: `fetch` cannot set another, so peers need names that their
 * certificates carry.
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
