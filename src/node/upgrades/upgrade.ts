import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { statusResponse } from '../../apimachinery/status.ts';
import { refuseUpgradeOfOwnPath } from '../../own-paths/refuse-own-path.ts';
import { knowledgeMissing } from '../../proxy/delivery/undelivered.ts';
import { withAuditIdForClient } from '../../request/audit-id.ts';
import { handleRequest } from '../../request/handle-request.ts';
import { cleanResponseHeaders } from '../../request/header-hygiene.ts';
import type { Router } from '../../request/router.ts';
import type { Decision } from '../../routing/decision.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import type { TlsDialer } from '../destinations/tls-dialer.ts';
import type { OpenStreams } from '../exchange/open-streams.ts';
import { answerHead, writeLastAnswer } from '../exchange/raw-answer.ts';
import { relayDeclinedAnswer } from './declined-upgrade.ts';
import { tunnel } from './tunnel.ts';
import { dialUpgrade, type UpgradeAnswer } from './upgrade-dial.ts';
import { UpgradeInbound, type UpgradeInboundOptions } from './upgrade-inbound.ts';
import { judgeUpgrade } from './upgrade-request.ts';

export interface UpgradeOptions extends UpgradeInboundOptions {
  readonly router: Pick<Router, 'admit' | 'deliver'>;
  readonly dialer: TlsDialer;
  /** Milliseconds until a destination's answer to the upgrade; open tunnels have no limit. Default 60,000. */
  readonly headTimeout?: number;
  /** Where open tunnels and answers are found when the server shuts down. Default: nowhere. */
  readonly openStreams?: OpenStreams | undefined;
  readonly logger?: Logger;
}

/** A listener for a server's 'upgrade' event. */
export type UpgradeListener = (incoming: IncomingMessage, socket: Duplex, firstBytes: Buffer) => void;

/**
 * Takes upgrades (exec, attach, port-forward) through the same door and the same way out as every other
 * request, and then carries bytes. Node sends every HTTP/1.1 request here that has both `Connection: upgrade`
 * and `Upgrade`, whatever it asks for; HTTP/2 has no such requests.
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
    // From this event on the server looks after the socket no more: nobody else listens for its errors.
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
    await writeLastAnswer(client, statusResponse('BadRequest', judgement.refusal));
    return;
  }
  const inbound = new UpgradeInbound(incoming, client, options);
  const { token } = judgement;
  const answer = await handleRequest<() => void | Promise<void>>(inbound, router, logger, async (request) => {
    const refusal = refuseUpgradeOfOwnPath(request);
    if (refusal !== undefined) return refusal;
    const outcome = await router.deliver<UpgradeAnswer>(request, (outbound) =>
      dialUpgrade(dialer, outbound, { token, headTimeout, signal: inbound.signal }),
    );
    if (outcome instanceof Response) return outcome;
    return outcome.kind === 'switched'
      ? () => openTunnel(client, firstBytes, outcome, inbound, openStreams)
      : relayDeclined(client, outcome.answer, request.decision, inbound, openStreams);
  });
  if (!(answer instanceof Response)) await answer();
  else if (inbound.takeAnswer()) await writeLastAnswer(client, answer);
}

function openTunnel(
  client: Duplex,
  firstBytes: Buffer,
  { head, socket, firstBytes: answered }: UpgradeAnswer & { readonly kind: 'switched' },
  inbound: UpgradeInbound,
  openStreams: OpenStreams | undefined,
): void {
  socket.on('error', () => socket.destroy());
  inbound.observed?.attemptAnswered(101);
  inbound.observed?.answered(101);
  if (!inbound.takeAnswer()) {
    socket.destroy();
    return;
  }
  inbound.liftDeadline();
  const headers = withAuditIdForClient([...head.rawHeaders], inbound);
  client.write(answerHead(101, head.statusMessage ?? '', headers));
  if (answered.length > 0) client.write(answered);
  if (firstBytes.length > 0) socket.write(firstBytes);
  tunnel(client, socket, openStreams);
}

/** The destination did not switch: its answer goes to the client, and both connections end; or an answer of ours does. */
function relayDeclined(
  client: Duplex,
  answer: IncomingMessage,
  decision: Decision,
  inbound: UpgradeInbound,
  openStreams: OpenStreams | undefined,
): Response | (() => Promise<void>) {
  const status = answer.statusCode ?? 0;
  inbound.observed?.attemptAnswered(status);
  if (status === 404 && decision.reason === 'NoSnapshot') {
    answer.destroy();
    return knowledgeMissing();
  }
  if (status >= 300 && status < 400) {
    answer.destroy();
    // Neither followed nor passed on (CVE-2020-8559).
    return statusResponse(
      'ServiceUnavailable',
      'the API server that serves this resource answered the upgrade with a redirect',
    );
  }
  inbound.observed?.answered(status);
  return async () => {
    if (!inbound.takeAnswer()) {
      answer.destroy();
      return;
    }
    const headers = withAuditIdForClient(cleanResponseHeaders(answer.rawHeaders), inbound);
    headers.push('Connection', 'close');
    await relayDeclinedAnswer(client, answer, headers, openStreams);
  };
}
