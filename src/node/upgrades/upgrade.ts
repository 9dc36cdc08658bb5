import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { allHeaders, firstHeader, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import { refuseDeclinedUpgrade } from '../../proxy/delivery/judge-response.ts';
import { handleRequest } from '../../proxy/router.ts';
import { cleanResponseHeaders, withAuditIdForClient } from '../../request/headers.ts';
import { refuseUpgradeOfOwnPath } from '../../request/own-path-target.ts';
import type { AdmittedRequest, Router } from '../../request/router.ts';
import { type Outcome, ownResponse, type SendResult, type Sent, sent } from '../../request/transport.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import type { TlsDialer } from '../destinations/tls-dialer.ts';
import { issueOfHead } from '../exchange/http1-request-head.ts';
import type { NodeInboundOptions } from '../exchange/node-inbound.ts';
import type { OpenStreams } from '../exchange/open-streams.ts';
import { responseHead, writeLastResponse } from '../exchange/raw-response.ts';
import { relayDeclinedResponse, tunnel } from './tunnel.ts';
import { dialUpgrade, type SwitchedUpgrade } from './upgrade-dial.ts';
import { UpgradeInbound } from './upgrade-inbound.ts';

export interface UpgradeOptions extends NodeInboundOptions {
  readonly router: Router;
  readonly dialer: TlsDialer;
  /** Milliseconds until a destination's response to the upgrade; open tunnels have no limit. Default 60,000. */
  readonly headTimeout?: number;
  /** Has the open tunnels and responses for a shutdown. Default: none. */
  readonly openStreams?: OpenStreams | undefined;
  readonly logger?: Logger;
}

export type UpgradeListener = (incoming: IncomingMessage, socket: Duplex, firstBytes: Buffer) => void;

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
  const { logger = silentLogger } = options;
  return (incoming, socket, firstBytes) => {
    // After this event the server does not listen for errors of the socket any more.
    socket.on('error', () => socket.destroy());
    upgrade(options, incoming, socket, firstBytes).catch((error: unknown) => {
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
): Promise<void> {
  const { router, dialer, headTimeout = 60_000, openStreams, logger = silentLogger } = options;
  const issue = issueOfUpgrade(incoming);
  if (issue !== undefined) {
    await writeLastResponse(client, statusResponse('BadRequest', issue));
    return;
  }
  const inbound = new UpgradeInbound(incoming, client, options);
  const token = protocolOf(incoming.rawHeaders);
  const serve = (request: AdmittedRequest): Outcome | Promise<Outcome> => {
    const refusal = refuseUpgradeOfOwnPath(request);
    if (refusal !== undefined) return ownResponse(refusal);
    return router.deliver(request, async (outbound) => {
      const response = await dialUpgrade(dialer, outbound, { token, headTimeout, signal: inbound.signal });
      return response.kind === 'switched'
        ? openTunnel(client, firstBytes, response, inbound, openStreams)
        : afterDeclined(client, response.response, request, inbound, openStreams);
    });
  };
  await handleRequest(inbound, router, logger, serve, async (outcome) => {
    if (outcome.kind === 'response' && inbound.takeResponse()) {
      await writeLastResponse(client, outcome.response);
    }
  });
}

function openTunnel(
  client: Duplex,
  firstBytes: Buffer,
  { head, socket, firstBytes: serverBytes }: SwitchedUpgrade,
  inbound: UpgradeInbound,
  openStreams: OpenStreams | undefined,
): Sent {
  inbound.record?.attemptResponded(101);
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
function afterDeclined(
  client: Duplex,
  response: IncomingMessage,
  request: AdmittedRequest,
  inbound: UpgradeInbound,
  openStreams: OpenStreams | undefined,
): SendResult {
  const status = response.statusCode ?? 0;
  inbound.record?.attemptResponded(status);
  const instead = refuseDeclinedUpgrade(request, { status, headers: response.rawHeaders });
  if (instead !== undefined) {
    response.destroy();
    return instead;
  }
  inbound.record?.responded(status);
  if (inbound.takeResponse()) {
    const headers = withAuditIdForClient(cleanResponseHeaders(response.rawHeaders), inbound);
    headers.push('Connection', 'close');
    void relayDeclinedResponse(client, response, headers, openStreams);
  } else response.destroy();
  return sent(status);
}

/** The protocols of Kubernetes: exec, attach and port-forward, in their newer and their older form. */
const tunnelled: ReadonlySet<string> = new Set(['websocket', 'spdy/3.1']);

/**
 * Whether a request with `Connection: upgrade` and `Upgrade` is for a tunnel: it names one protocol, which Kubernetes uses.
 * Any other is an offer that is ignored (RFC 9110 section 7.8; of an HTTP/1.0 client it must be): an ordinary request,
 * without the header. kube-apiserver only looks at `Connection`, and would switch to anything that a backend agrees to
 * (kubernetes#72112).
 */
export function isForTunnel({
  httpVersion,
  rawHeaders,
}: Pick<IncomingMessage, 'httpVersion' | 'rawHeaders'>): boolean {
  const tokens = allHeaders(rawHeaders, 'upgrade');
  return httpVersion === '1.1' && tokens.length === 1 && tunnelled.has(protocolOf(rawHeaders).toLowerCase());
}

/** As the client wrote it. */
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
