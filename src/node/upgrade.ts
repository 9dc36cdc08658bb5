import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { statusResponse } from '../apimachinery/status.ts';
import { type Logger, silentLogger } from '../observe/logger.ts';
import { namedAnswer, withAuditIdForClient } from '../proxy/audit-id.ts';
import type { Decision } from '../proxy/decision.ts';
import { cleanResponseHeaders } from '../proxy/header-hygiene.ts';
import { ownPathSpelling, ownPathsPrefix } from '../proxy/own-path-target.ts';
import type { Router } from '../proxy/router.ts';
import { knowledgeMissing } from '../proxy/undelivered.ts';
import { relayDeclinedAnswer } from './declined-upgrade.ts';
import type { OpenStreams } from './open-streams.ts';
import { answerHead, writeLastAnswer } from './raw-answer.ts';
import type { TlsDialer } from './tls-dialer.ts';
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
  const { router, dialer, headTimeout = 60_000, openStreams } = options;
  const judgement = judgeUpgrade(incoming.httpVersion, incoming.rawHeaders);
  if ('refusal' in judgement) {
    await writeLastAnswer(client, statusResponse('BadRequest', judgement.refusal));
    return;
  }
  const inbound = new UpgradeInbound(incoming, client, options);
  const admission = await router.admit(inbound);
  if (admission.kind === 'refused') {
    await answerLast(client, admission.response, inbound);
    return;
  }
  if (ownPathSpelling(inbound.target, admission.request.requestInfo.path) !== 'none') {
    // The fetch handler's checks are not on this way; nothing under the prefix goes to an API server.
    const message = `nothing under ${ownPathsPrefix} can be upgraded: send the request without Upgrade`;
    await answerLast(client, statusResponse('BadRequest', message), inbound);
    return;
  }
  const { token } = judgement;
  const answer = await router.deliver<UpgradeAnswer>(admission.request, (outbound) =>
    dialUpgrade(dialer, outbound, { token, headTimeout, signal: inbound.signal }),
  );
  if (answer instanceof Response) await answerLast(client, answer, inbound);
  else if (answer.kind === 'switched') openTunnel(client, firstBytes, answer, inbound, openStreams);
  else await relayDeclined(client, answer.answer, admission.request.decision, inbound, openStreams);
}

/** The router's own answer, told to the observers. */
async function answerLast(client: Duplex, response: Response, inbound: UpgradeInbound): Promise<void> {
  inbound.observed?.answered(response.status);
  if (!inbound.takeAnswer()) return;
  await writeLastAnswer(client, namedAnswer(response, inbound));
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

/** The destination did not switch: its answer goes to the client, and both connections end. */
async function relayDeclined(
  client: Duplex,
  answer: IncomingMessage,
  decision: Decision,
  inbound: UpgradeInbound,
  openStreams: OpenStreams | undefined,
): Promise<void> {
  const status = answer.statusCode ?? 0;
  inbound.observed?.attemptAnswered(status);
  if (status === 404 && decision.reason === 'NoSnapshot') {
    answer.destroy();
    await answerLast(client, knowledgeMissing(), inbound);
    return;
  }
  if (status >= 300 && status < 400) {
    answer.destroy();
    // Neither followed nor passed on (CVE-2020-8559).
    const message = 'the API server that serves this resource answered the upgrade with a redirect';
    await answerLast(client, statusResponse('ServiceUnavailable', message), inbound);
    return;
  }
  inbound.observed?.answered(status);
  if (!inbound.takeAnswer()) {
    answer.destroy();
    return;
  }
  const headers = withAuditIdForClient(cleanResponseHeaders(answer.rawHeaders), inbound);
  headers.push('Connection', 'close');
  await relayDeclinedAnswer(client, answer, headers, openStreams);
}
