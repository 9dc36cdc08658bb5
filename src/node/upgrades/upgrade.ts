import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { addAbortSignal, type Duplex, Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { allHeaders, firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import type { AdmittedRequest, Router, Send } from '../../proxy/admitted-request.ts';
import { handleRequest } from '../../proxy/handle-request.ts';
import { judgeDeclinedUpgrade } from '../../proxy/judge-response.ts';
import { TransportError } from '../../request/destination.ts';
import { cleanResponseHeaders, withAuditId, withAuditIdForClient } from '../../request/headers.ts';
import type { ConnectionInfo, InboundRequest, RequestRecord } from '../../request/inbound.ts';
import { type OutboundRequest, type SendResult, type Sent, sent } from '../../request/transport.ts';
import { defaultLogger } from '../../runtime/console-logger.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { TlsDialer } from '../destinations/tls-dialer.ts';
import type { Deadlines, Expiring } from '../exchange/deadlines.ts';
import {
  endAfterResponse,
  forgetHead,
  issueOfHead,
  responseHead,
  takeAbsoluteForm,
  writeLastResponse,
} from '../exchange/http1-heads.ts';
import { ExchangeEnd, type NodeInboundOptions, timedOutResponse } from '../exchange/node-inbound.ts';
import type { OpenStream, OpenStreams } from '../exchange/open-streams.ts';
import { dialUpgrade, type UpgradeResponse } from './upgrade-dial.ts';

/** Time for one side to read the last bytes after the other side has closed. */
const lastBytesMilliseconds = 10_000;

/**
 * Relays bytes in both directions with back-pressure and without an idle time-out. When one side ends, the other is ended
 * after the last bytes were written; an error ends both at once.
 * @param openStreams has the tunnel for a shutdown, until both sides are closed
 */
export function tunnel(client: Duplex, destination: Duplex, openStreams?: OpenStreams): void {
  let lastBytes: NodeJS.Timeout | undefined;
  for (const [from, to] of [
    [client, destination],
    [destination, client],
  ] as const) {
    from.on('error', () => to.destroy());
    from.once('close', () => {
      // Of the side that has closed first.
      clearTimeout(lastBytes);
      if (to.destroyed) return;
      endWhenWritten(to);
      // A side that never reads would keep its connection for ever.
      lastBytes = setTimeout(() => to.destroy(), lastBytesMilliseconds);
    });
    from.pipe(to);
  }
  if (openStreams === undefined) return;
  const opened: OpenStream = {
    // The router cannot see the protocol in a tunnel, so it cannot end it cleanly.
    cut() {
      destination.destroy();
      endWhenWritten(client);
    },
  };
  openStreams.opened(opened);
  const closed = (): void => {
    if (client.closed && destination.closed) openStreams.closed(opened);
  };
  client.once('close', closed);
  destination.once('close', closed);
}

function endWhenWritten(socket: Duplex): void {
  if (socket instanceof Socket) socket.destroySoon();
  else socket.end();
}

/** Listeners for one event that `pipeline` leaves on its destination with `end: false` (node:internal/streams/pipeline). */
const pipelineListeners = 4;

/**
 * Relays the response of a destination that did not switch (an error, or a watch that was requested with `Upgrade`), and
 * ends both connections. What the client sends meanwhile is discarded: the destination would read it as requests of the
 * router (CVE-2018-1002105).
 *
 * When one side closes, the other is closed, too: an endless response would otherwise keep the destination's connection
 * and a file descriptor after its client has left.
 * @param headers header lines of the response, without those of its framing
 * @param content of the response, where it has been read already
 */
async function relayDeclinedResponse(
  client: Duplex,
  response: IncomingMessage,
  headers: RawHeaders,
  openStreams: OpenStreams | undefined,
  content: Uint8Array | undefined,
): Promise<void> {
  const opened: OpenStream = {
    cut() {
      response.destroy();
      client.destroy();
    },
  };
  openStreams?.opened(opened);
  client.once('close', () => {
    openStreams?.closed(opened);
    response.destroy();
  });
  // Listeners of `pipeline` and of those who count the connection; all leave with it. Beyond ten Node warns of a leak.
  client.setMaxListeners(client.getMaxListeners() + pipelineListeners);
  // Read and discarded, so that the end of the connection is seen.
  client.resume();
  client.write(responseHead(response.statusCode ?? 0, response.statusMessage ?? '', headers));
  try {
    await pipeline(content === undefined ? response : Readable.from([content]), client, { end: false });
  } catch {
    client.destroy();
    return;
  }
  endAfterResponse(client);
}

export class UpgradeInbound implements InboundRequest, Expiring {
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly connection: ConnectionInfo;
  readonly isUpgrade = true;
  readonly signal: AbortSignal;
  auditId: string | undefined;
  record: RequestRecord | undefined;
  readonly #socket: Duplex;
  readonly #deadlines: Deadlines | undefined;
  readonly #controller = new AbortController();
  readonly #end = new ExchangeEnd();
  #hasResponse = false;
  #deadline: number | undefined;

  constructor(incoming: IncomingMessage, socket: Duplex, options: NodeInboundOptions) {
    this.method = incoming.method ?? 'GET';
    this.target = incoming.url ?? '';
    this.headers = incoming.rawHeaders;
    this.connection = {
      remoteAddress: incoming.socket.remoteAddress,
      ...options.clientCertificateOf(incoming),
    };
    this.#socket = socket;
    this.#deadlines = options.deadlines;
    this.signal = this.#controller.signal;
    // One listener on the socket for all: Node warns of a leak from eleven on.
    const end = this.#end;
    socket.once('close', () => end.reached());
    this.onFinished(() => {
      this.liftDeadline();
      this.#controller.abort(new Error('the client closed the connection'));
    });
  }

  body(): null {
    return null;
  }

  /** Only the first caller may write a response. @returns false if there is one, or the client has gone */
  takeResponse(): boolean {
    if (this.#hasResponse || this.#socket.destroyed) return false;
    this.#hasResponse = true;
    return true;
  }

  limitDuration(): void {
    if (!this.#socket.destroyed) this.#deadline = this.#deadlines?.add(this);
  }

  liftDeadline(): void {
    if (this.#deadline !== undefined) this.#deadlines?.remove(this, this.#deadline);
  }

  expire(): void {
    if (this.#socket.destroyed) return;
    this.record?.turnedAway('RequestTimeout');
    if (!this.takeResponse()) {
      this.#socket.destroy();
      return;
    }
    // Nothing that an upgrade has begun may be begun twice, not even by GET.
    const { code, headers, body } = timedOutResponse(false);
    this.record?.responded(code);
    void writeLastResponse(this.#socket, withAuditId(new Response(body, { status: code, headers }), this));
    this.#controller.abort(new Error('the request took longer than the request time-out'));
  }

  onFinished(listener: () => void): void {
    if (this.#socket.destroyed) listener();
    else this.#end.add(listener);
  }
}

export interface UpgradeOptions extends NodeInboundOptions {
  readonly router: Pick<Router, 'accept' | 'identify' | 'decide' | 'deliver'>;
  readonly dialer: TlsDialer;
  /** Milliseconds until a destination's response to the upgrade; open tunnels have no limit. Default 60,000. */
  readonly headTimeout?: number;
  readonly openStreams?: OpenStreams | undefined;
  readonly logger?: Logger;
}

/** Is told of what is held for an upgrade. */
export interface UpgradeMemory {
  /** The server has responded: of the request's head only what logs need is kept. */
  headForgotten(): void;
  tunnelOpened(destination: Duplex): void;
}

export type UpgradeListener = (
  incoming: IncomingMessage,
  socket: Duplex,
  firstBytes: Buffer,
  memory?: UpgradeMemory,
) => void;

/**
 * Handles upgrades (exec, attach, port-forward) with the same steps as every other request, then relays bytes. HTTP/2 has
 * no such requests.
 *
 * @example
 * ```ts
 * const server = createServer({ cert, key });
 * server.on('upgrade', upgradeListener({ router, dialer: transport.dialer, clientCertificateOf: () => ({}) }));
 * ```
 */
export function upgradeListener(options: UpgradeOptions): UpgradeListener {
  const { logger = defaultLogger } = options;
  return (incoming, socket, firstBytes, memory) => {
    // After this event the server does not listen for errors of the socket any more.
    socket.on('error', () => socket.destroy());
    upgrade(options, incoming, socket, firstBytes, memory).catch((error: unknown) => {
      logger.error({ error: String(error) }, 'An upgrade failed');
      socket.destroy();
    });
  };
}

async function upgrade(
  options: UpgradeOptions,
  incoming: IncomingMessage,
  client: Duplex,
  firstBytes: Buffer,
  memory: UpgradeMemory | undefined,
): Promise<void> {
  const { router, dialer, headTimeout = 60_000, openStreams, logger = defaultLogger } = options;
  const issue = issueOfUpgrade(incoming);
  if (issue !== undefined) {
    await writeLastResponse(client, statusResponse('BadRequest', issue));
    return;
  }
  takeAbsoluteForm(incoming);
  const inbound = new UpgradeInbound(incoming, client, options);
  const token = protocolOf(incoming.rawHeaders);
  const dial: Send = async (outbound, request) => {
    const response = await dialUpgrade(dialer, outbound, { token, headTimeout, signal: inbound.signal });
    const { head, switched } = response;
    if (switched === undefined) {
      return afterDeclined(client, head, { request, outbound, inbound, openStreams });
    }
    // Not before: another server may have to be asked.
    forgetHead(incoming);
    memory?.headForgotten();
    memory?.tunnelOpened(switched.socket);
    return openTunnel(client, firstBytes, head, switched, inbound, openStreams);
  };
  const outcome = await handleRequest(inbound, router, (request) => router.deliver(request, dial), logger);
  if (outcome.kind === 'response' && inbound.takeResponse()) {
    await writeLastResponse(client, outcome.response);
  }
}

function openTunnel(
  client: Duplex,
  firstBytes: Buffer,
  head: IncomingMessage,
  { socket, firstBytes: serverBytes }: NonNullable<UpgradeResponse['switched']>,
  inbound: UpgradeInbound,
  openStreams: OpenStreams | undefined,
): Sent {
  inbound.record?.attemptEnded(101);
  inbound.record?.responded(101);
  if (!inbound.takeResponse()) {
    socket.destroy();
    return sent(101);
  }
  inbound.liftDeadline();
  const headers = withAuditIdForClient([...head.rawHeaders], inbound);
  client.write(responseHead(101, head.statusMessage ?? '', headers));
  if (serverBytes.length > 0) client.write(serverBytes);
  if (firstBytes.length > 0) socket.write(firstBytes);
  tunnel(client, socket, openStreams);
  return sent(101);
}

/**
 * The destination did not switch. Its response is relayed, after which both connections end; or something takes its place,
 * which ends the connection to it.
 */
async function afterDeclined(
  client: Duplex,
  response: IncomingMessage,
  { request, outbound, inbound, openStreams }: DeclinedRequest,
): Promise<SendResult> {
  const status = response.statusCode ?? 0;
  inbound.record?.attemptEnded(status);
  const head = { status, headers: response.rawHeaders };
  const { instead, content } = await judgeDeclinedUpgrade(request, outbound, head, () =>
    contentOf(response, inbound.signal),
  );
  if (instead !== undefined) {
    response.destroy();
    return instead;
  }
  inbound.record?.responded(status);
  if (inbound.takeResponse()) {
    const headers = withAuditIdForClient(cleanResponseHeaders(response.rawHeaders), inbound);
    headers.push('Connection', 'close');
    void relayDeclinedResponse(client, response, headers, openStreams, content);
  } else response.destroy();
  return sent(status);
}

interface DeclinedRequest {
  readonly request: AdmittedRequest;
  readonly outbound: OutboundRequest;
  readonly inbound: UpgradeInbound;
  readonly openStreams: OpenStreams | undefined;
}

/** @throws {TransportError} when it breaks off, or the client leaves */
async function contentOf(response: IncomingMessage, signal: AbortSignal): Promise<Buffer<ArrayBuffer>> {
  try {
    return Buffer.from(await buffer(addAbortSignal(signal, response)));
  } catch (cause) {
    const code = signal.aborted ? 'ClientGone' : 'ConnectionClosed';
    throw new TransportError(code, `the response to the upgrade broke off: ${String(cause)}`, {
      mayHaveBeenProcessed: true,
      cause,
    });
  }
}

/** The protocols of Kubernetes: exec, attach and port-forward, in their newer and their older form. */
const tunnelled: ReadonlySet<string> = new Set(['websocket', 'spdy/3.1']);

/**
 * True if a request with `Connection: upgrade` and `Upgrade` is for a tunnel: it names one protocol, which Kubernetes
 * uses. Any other is an offer that is ignored (RFC 9110 section 7.8; of an HTTP/1.0 client it must be): an ordinary
 * request, without the header. kube-apiserver only looks at `Connection`, and would switch to anything that a backend
 * agrees to (kubernetes#72112).
 */
export function isForTunnel({
  httpVersion,
  rawHeaders,
}: Pick<IncomingMessage, 'httpVersion' | 'rawHeaders'>): boolean {
  const tokens = allHeaders(rawHeaders, 'upgrade');
  return httpVersion === '1.1' && tokens.length === 1 && tunnelled.has(protocolOf(rawHeaders).toLowerCase());
}

function protocolOf(headers: RawHeaders): string {
  return firstHeader(headers, 'upgrade')?.trim() ?? '';
}

/** With a body, two parsers may disagree where the new protocol begins (GHSA-ggv3-7p47-pfv8). */
function issueOfUpgrade({ httpVersion, rawHeaders }: IncomingMessage): string | undefined {
  const issue = issueOfHead(httpVersion, rawHeaders);
  if (issue !== undefined) return issue;
  const lengths = allHeaders(rawHeaders, 'content-length');
  const hasBody =
    allHeaders(rawHeaders, 'transfer-encoding').length > 0 || lengths.some((length) => length.trim() !== '0');
  return hasBody ? 'an upgrade request cannot have a body' : undefined;
}
