import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { allHeaders, firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { requestLines } from '../../http2/fields/connection-headers.ts';
import { type OutboundRequest, TransportError } from '../../request/transport.ts';
import { maximumAnswerHeaderBytes, maximumAnswerLines } from '../destinations/answer-limits.ts';
import { invalidResponse, refuseOtherCodings } from '../destinations/invalid-response.ts';
import type { TlsDialer } from '../destinations/tls-dialer.ts';
import { toTransportError } from '../destinations/transport-errors.ts';

/** What a destination said to an upgrade request. */
export type UpgradeAnswer =
  /** 101: from here on `socket` speaks the new protocol; `firstBytes` came with the head. */
  | {
      readonly kind: 'switched';
      readonly head: IncomingMessage;
      readonly socket: Duplex;
      readonly firstBytes: Buffer;
    }
  /** Anything else: an ordinary answer, its body still to be read. */
  | { readonly kind: 'declined'; readonly answer: IncomingMessage };

export interface UpgradeDialOptions {
  readonly token: string;
  /** Milliseconds until the head of the answer; after it there is no limit. */
  readonly headTimeout: number;
  readonly signal: AbortSignal;
}

/**
 * Asks a destination to switch protocols, over an HTTP/1.1 connection of its own. Not one byte of the client's
 * goes out before the destination has agreed (CVE-2018-1002105).
 * @throws {TransportError}
 */
export async function dialUpgrade(
  dialer: TlsDialer,
  outbound: OutboundRequest,
  options: UpgradeDialOptions,
): Promise<UpgradeAnswer> {
  const { destination, presentFrontProxyCertificate, method, target } = outbound;
  const { signal, headTimeout } = options;
  const socket = await dialer.dial({
    destination,
    presentFrontProxyCertificate,
    // HTTP/2 knows no upgrade but RFC 8441's, which kube-apiserver does not speak.
    protocols: ['http/1.1'],
    signal,
  });
  const { promise, resolve, reject } = Promise.withResolvers<UpgradeAnswer>();
  const request = httpRequest({
    method,
    path: target,
    headers: upgradeLines(outbound, options.token),
    createConnection: () => socket,
    maxHeaderSize: maximumAnswerHeaderBytes,
  });
  // What is beyond Node leaves out without a word: one more shows that there was something.
  request.maxHeadersCount = maximumAnswerLines + 1;
  let headLines = 0;
  const takes = ({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>): boolean => {
    headLines += 1 + rawHeaders.length / 2;
    if (headLines <= maximumAnswerLines) return true;
    fail(invalidResponse('its head has too many lines'));
    return false;
  };
  request.on('information', takes);
  const timer = setTimeout(() => {
    fail(
      new TransportError(
        'Timeout',
        `${destination.origin}: no answer to the upgrade within ${headTimeout} ms`,
        {
          requestMayHaveArrived: true,
        },
      ),
    );
  }, headTimeout);
  const clientGone = (): void => {
    fail(
      new TransportError('ClientGone', `${destination.origin}: the client went away`, {
        requestMayHaveArrived: true,
      }),
    );
  };
  const settled = (): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', clientGone);
  };
  const fail = (error: unknown): void => {
    settled();
    reject(toTransportError(error, { origin: destination.origin, sent: true, bodyOpened: false }));
    socket.destroy();
  };
  signal.addEventListener('abort', clientGone);
  request.on('error', fail);
  request.once('upgrade', (head, upgraded, firstBytes) => {
    if (!takes(head)) return;
    if (!switchesTo(options.token, head.rawHeaders)) {
      fail(invalidUpgrade(destination.origin, 'it switches to a protocol that was not asked for'));
      return;
    }
    settled();
    resolve({ kind: 'switched', head, socket: upgraded, firstBytes });
  });
  request.once('response', (answer) => {
    // Node hands a 101 without `Upgrade` over as an ordinary answer; what follows it would be no HTTP.
    if (answer.statusCode === 101) {
      fail(invalidUpgrade(destination.origin, 'it switches without saying to what'));
      return;
    }
    if (!takes(answer)) return;
    try {
      refuseOtherCodings(answer.rawHeaders);
    } catch (error) {
      fail(error);
      return;
    }
    settled();
    resolve({ kind: 'declined', answer });
  });
  // Gone between the dial's end and here: nobody would be told of that any more.
  if (signal.aborted) clientGone();
  else request.end();
  return promise;
}

/**
 * Whether a 101 names the protocol that was asked for, and no other beside or on top of it (RFC 9110 section 7.8). What
 * the client sends next it means for that one: to a server that has switched to HTTP/2 it could be a request, made
 * under our own certificate.
 */
function switchesTo(token: string, answer: RawHeaders): boolean {
  // Empty elements of a list count for nothing (RFC 9110 section 5.6.1).
  const named = allHeaders(answer, 'upgrade')
    .flatMap((line) => line.split(','))
    .map((element) => element.trim().toLowerCase())
    .filter((element) => element !== '');
  return named.length === 1 && named[0] === token.toLowerCase();
}

function invalidUpgrade(origin: string, fault: string): TransportError {
  return new TransportError(
    'InvalidResponse',
    `${origin}: the answer to the upgrade is not valid: ${fault}`,
    {
      requestMayHaveArrived: true,
    },
  );
}

/** The request's lines as they came, with our own hop's. `Host` names the destination, as undici's does. */
function upgradeLines(outbound: OutboundRequest, token: string): string[] {
  const lines = requestLines(outbound.headers);
  // Without a length Node would announce a chunked body for a POST.
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
