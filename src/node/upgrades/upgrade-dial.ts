import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { requestLines } from '../../../packages/http2/shared.ts';
import { allHeaders, firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { TransportError, type TransportErrorCode } from '../../request/destination.ts';
import type { OutboundRequest } from '../../request/transport.ts';
import { toTransportError } from '../destinations/exchange.ts';
import {
  invalidResponse,
  LineCount,
  maximumResponseHeaderBytes,
  maximumResponseLines,
  refuseOtherCodings,
} from '../destinations/http1-pool.ts';
import type { TlsDialer } from '../destinations/tls-dialer.ts';

export interface UpgradeResponse {
  /** The head of the response. The body of a response that declines is unread. */
  readonly head: IncomingMessage;
  /** After a 101: `socket` speaks the new protocol now; `firstBytes` arrived with the head. */
  readonly switched?: { readonly socket: Duplex; readonly firstBytes: Buffer };
}

interface UpgradeDialOptions {
  readonly token: string;
  /** Milliseconds until the head of the response; afterwards there is no limit. */
  readonly headTimeout: number;
  readonly signal: AbortSignal;
}

/**
 * Sends an upgrade request to a destination, over an HTTP/1.1 connection of its own. No byte of the client is sent before
 * the destination has agreed (CVE-2018-1002105).
 * @throws {TransportError}
 */
export async function dialUpgrade(
  dialer: TlsDialer,
  outbound: OutboundRequest,
  options: UpgradeDialOptions,
): Promise<UpgradeResponse> {
  const { destination, presentFrontProxyCertificate } = outbound;
  const socket = await dialer.dial({
    destination,
    presentFrontProxyCertificate,
    // HTTP/2 only has upgrades by RFC 8441, which kube-apiserver does not support.
    protocols: ['http/1.1'],
    signal: options.signal,
  });
  return new UpgradeExchange(socket, outbound, options).response;
}

/** One upgrade request on its connection, until there is the head of a response. */
class UpgradeExchange {
  /** @throws {TransportError} */
  readonly response: Promise<UpgradeResponse>;
  readonly #socket: Duplex;
  readonly #origin: string;
  readonly #options: UpgradeDialOptions;
  readonly #result = Promise.withResolvers<UpgradeResponse>();
  /** Of interim responses, too. */
  readonly #heads = new LineCount();
  readonly #timer: NodeJS.Timeout;

  constructor(socket: Duplex, outbound: OutboundRequest, options: UpgradeDialOptions) {
    const { token, headTimeout, signal } = options;
    this.response = this.#result.promise;
    this.#socket = socket;
    this.#origin = outbound.destination.origin;
    this.#options = options;
    this.#timer = setTimeout(
      () => this.#failWith('Timeout', `no response to the upgrade within ${headTimeout} ms`),
      headTimeout,
    );
    const request = httpRequest({
      method: outbound.method,
      path: outbound.target,
      headers: upgradeLines(outbound, token),
      createConnection: () => socket,
      maxHeaderSize: maximumResponseHeaderBytes,
    });
    // Node silently drops lines beyond this: one more shows that the limit was exceeded.
    request.maxHeadersCount = maximumResponseLines + 1;
    request.on('information', (head) => this.#isAcceptable(head));
    request.on('error', (error) => this.#fail(error));
    request.once('upgrade', (head, upgraded, firstBytes) => this.#switched(head, upgraded, firstBytes));
    request.once('response', (response) => this.#declined(response));
    signal.addEventListener('abort', this.#clientGone);
    // The client may have gone since the dial ended, before there was a listener.
    if (signal.aborted) this.#clientGone();
    else request.end();
  }

  #switched(head: IncomingMessage, socket: Duplex, firstBytes: Buffer): void {
    if (!this.#isAcceptable(head)) return;
    if (switchesTo(this.#options.token, head.rawHeaders))
      this.#settle({ head, switched: { socket, firstBytes } });
    else this.#failInvalid('it switches to a protocol that was not requested');
  }

  #declined(head: IncomingMessage): void {
    // Node reports a 101 without `Upgrade` as an ordinary response; what follows would not be HTTP.
    if (head.statusCode === 101) {
      this.#failInvalid('it switches without naming a protocol');
      return;
    }
    if (!this.#isAcceptable(head)) return;
    try {
      refuseOtherCodings(head.rawHeaders);
      this.#settle({ head });
    } catch (error) {
      this.#fail(error);
    }
  }

  #isAcceptable({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): boolean {
    this.#heads.add(rawHeaders);
    if (this.#heads.areTooLarge) this.#fail(invalidResponse('its head is too large'));
    return !this.#heads.areTooLarge;
  }

  readonly #clientGone = (): void => this.#failWith('ClientGone', 'the client went away');

  #failInvalid(reason: string): void {
    this.#failWith('InvalidResponse', `the response to the upgrade is not valid: ${reason}`);
  }

  #failWith(code: TransportErrorCode, message: string): void {
    this.#fail(new TransportError(code, `${this.#origin}: ${message}`, { mayHaveBeenProcessed: true }));
  }

  #fail(error: unknown): void {
    this.#endWaiting();
    this.#result.reject(toTransportError(error, this.#origin, true));
    this.#socket.destroy();
  }

  #settle(response: UpgradeResponse): void {
    this.#endWaiting();
    this.#result.resolve(response);
  }

  #endWaiting(): void {
    clearTimeout(this.#timer);
    this.#options.signal.removeEventListener('abort', this.#clientGone);
  }
}

/**
 * True if a 101 names exactly the requested protocol (RFC 9110 section 7.8). The next bytes of the client are meant for
 * that protocol: to a server that has switched to HTTP/2 they could be a request under our own certificate.
 */
function switchesTo(token: string, headers: RawHeaders): boolean {
  // Empty elements of a list are ignored (RFC 9110 section 5.6.1).
  const named = allHeaders(headers, 'upgrade')
    .flatMap((line) => line.split(','))
    .map((element) => element.trim().toLowerCase())
    .filter((element) => element !== '');
  return named.length === 1 && named[0] === token.toLowerCase();
}

function upgradeLines(outbound: OutboundRequest, token: string): string[] {
  const lines = requestLines(outbound.headers);
  // Without a Content-Length Node would announce a chunked body for a POST.
  const bodiless = outbound.method === 'GET' || firstHeader(lines, 'content-length') !== undefined;
  return [
    'Host',
    new URL(outbound.destination.origin).host,
    ...lines,
    ...(bodiless ? [] : ['Content-Length', '0']),
    'Connection',
    'Upgrade',
    'Upgrade',
    token,
  ];
}
