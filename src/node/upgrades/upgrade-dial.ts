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
  const { destination, presentFrontProxyCertificate, method, target } = outbound;
  const { signal, headTimeout } = options;
  const socket = await dialer.dial({
    destination,
    presentFrontProxyCertificate,
    // HTTP/2 only has upgrades by RFC 8441, which kube-apiserver does not support.
    protocols: ['http/1.1'],
    signal,
  });
  const { promise, resolve, reject } = Promise.withResolvers<UpgradeResponse>();
  const failure = (code: TransportErrorCode, message: string): TransportError =>
    new TransportError(code, `${destination.origin}: ${message}`, { mayHaveBeenProcessed: true });
  const invalidUpgrade = (reason: string): TransportError =>
    failure('InvalidResponse', `the response to the upgrade is not valid: ${reason}`);
  const request = httpRequest({
    method,
    path: target,
    headers: upgradeLines(outbound, options.token),
    createConnection: () => socket,
    maxHeaderSize: maximumResponseHeaderBytes,
  });
  // Node silently drops lines beyond this: one more shows that the limit was exceeded.
  request.maxHeadersCount = maximumResponseLines + 1;
  const heads = new LineCount();
  const isAcceptable = ({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): boolean => {
    heads.add(rawHeaders);
    if (heads.areTooLarge) fail(invalidResponse('its head is too large'));
    return !heads.areTooLarge;
  };
  request.on('information', isAcceptable);
  const timer = setTimeout(() => {
    fail(failure('Timeout', `no response to the upgrade within ${headTimeout} ms`));
  }, headTimeout);
  const clientGone = (): void => fail(failure('ClientGone', 'the client went away'));
  const settled = (): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', clientGone);
  };
  const fail = (error: unknown): void => {
    settled();
    reject(toTransportError(error, destination.origin, true));
    socket.destroy();
  };
  signal.addEventListener('abort', clientGone);
  request.on('error', fail);
  request.once('upgrade', (head, upgraded, firstBytes) => {
    if (!isAcceptable(head)) return;
    if (!switchesTo(options.token, head.rawHeaders)) {
      fail(invalidUpgrade('it switches to a protocol that was not requested'));
      return;
    }
    settled();
    resolve({ head, switched: { socket: upgraded, firstBytes } });
  });
  request.once('response', (response) => {
    // Node reports a 101 without `Upgrade` as an ordinary response; what follows would not be HTTP.
    if (response.statusCode === 101) {
      fail(invalidUpgrade('it switches without naming a protocol'));
      return;
    }
    if (!isAcceptable(response)) return;
    try {
      refuseOtherCodings(response.rawHeaders);
    } catch (error) {
      fail(error);
      return;
    }
    settled();
    resolve({ head: response });
  });
  // The client may have gone since the dial ended, before there was a listener.
  if (signal.aborted) clientGone();
  else request.end();
  return promise;
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
