import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { allHeaders, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import { refuseUpgradeOfOwnPath } from '../../own-paths/refuse-own-path.ts';
import { refuseDeclinedUpgrade } from '../../proxy/delivery/declined-upgrade.ts';
import { withAuditIdForClient } from '../../request/audit-id.ts';
import { handleRequest } from '../../request/handle-request.ts';
import { cleanResponseHeaders } from '../../request/header-hygiene.ts';
import { ownResponse, type SendResult, type Sent, sent } from '../../request/outcome.ts';
import type { AdmittedRequest, Router } from '../../request/router.ts';
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
 * Handles upgrades (exec, attach, port-forward) with the same steps as every other request, then relays bytes. Node emits
 * 'upgrade' for every HTTP/1.1 request with both `Connection: upgrade` and `Upgrade`; HTTP/2 has no such requests.
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
  const judgement = judgeUpgrade(incoming.httpVersion, incoming.rawHeaders);
  if ('refusal' in judgement) {
    await writeLastResponse(client, statusResponse('BadRequest', judgement.refusal));
    return;
  }
  const inbound = new UpgradeInbound(incoming, client, options);
  const { token } = judgement;
  const outcome = await handleRequest(inbound, router, logger, (request) => {
    const refusal = refuseUpgradeOfOwnPath(request);
    if (refusal !== undefined) return ownResponse(refusal);
    return router.deliver(request, async (outbound) => {
      const response = await dialUpgrade(dialer, outbound, { token, headTimeout, signal: inbound.signal });
      return response.kind === 'switched'
        ? openTunnel(client, firstBytes, response, inbound, openStreams)
        : afterDeclined(client, response.response, request, inbound, openStreams);
    });
  });
  if (outcome.kind === 'response' && inbound.takeResponse()) {
    await writeLastResponse(client, outcome.response);
  }
}

function openTunnel(
  client: Duplex,
  firstBytes: Buffer,
  { head, socket, firstBytes: serverBytes }: SwitchedUpgrade,
  inbound: UpgradeInbound,
  openStreams: OpenStreams | undefined,
): Sent {
  inbound.observed?.attemptResponded(101);
  inbound.observed?.responded(101);
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
  inbound.observed?.attemptResponded(status);
  const instead = refuseDeclinedUpgrade(request, { status, headers: response.rawHeaders });
  if (instead !== undefined) {
    response.destroy();
    return instead;
  }
  inbound.observed?.responded(status);
  if (inbound.takeResponse()) {
    const headers = withAuditIdForClient(cleanResponseHeaders(response.rawHeaders), inbound);
    headers.push('Connection', 'close');
    void relayDeclinedResponse(client, response, headers, openStreams);
  } else response.destroy();
  return sent(status);
}

/** The protocols of Kubernetes: exec, attach and port-forward, in their newer and their older form. */
const allowedTokens: ReadonlySet<string> = new Set(['websocket', 'spdy/3.1']);

/** The protocol of an upgrade request as the client wrote it, or why the request is refused. */
type UpgradeJudgement = { readonly token: string } | { readonly refusal: string };

/**
 * Allows one protocol that Kubernetes uses, and no body. Everything else is refused, not forwarded as an ordinary
 * request: kube-apiserver only looks at `Connection`, and would switch to anything that a backend agrees to
 * (kubernetes#72112). With a body, two parsers may disagree where the new protocol begins (GHSA-ggv3-7p47-pfv8). `h2c` is
 * refused, too: RFC 9113 section 3.1 dropped it, and clients negotiate HTTP/2 by ALPN.
 */
export function judgeUpgrade(httpVersion: string, headers: RawHeaders): UpgradeJudgement {
  // RFC 9110 section 7.8: an HTTP/1.0 client cannot upgrade.
  if (httpVersion !== '1.1') return { refusal: 'an upgrade needs HTTP/1.1' };
  const issue = issueOfHead(httpVersion, headers);
  if (issue !== undefined) return { refusal: issue };
  const tokens = allHeaders(headers, 'upgrade');
  const token = tokens[0]?.trim() ?? '';
  if (tokens.length !== 1 || !allowedTokens.has(token.toLowerCase())) {
    return { refusal: 'an upgrade must name one protocol, websocket or SPDY/3.1' };
  }
  const lengths = allHeaders(headers, 'content-length');
  const hasBody =
    allHeaders(headers, 'transfer-encoding').length > 0 || lengths.some((length) => length.trim() !== '0');
  if (hasBody) return { refusal: 'an upgrade request cannot have a body' };
  return { token };
}
