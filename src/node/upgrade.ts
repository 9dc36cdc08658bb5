import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { RawHeaders } from '../apimachinery/raw-headers.ts';
import { statusResponse } from '../apimachinery/status.ts';
import { type Logger, silentLogger } from '../observe/logger.ts';
import type { ObservedRequest } from '../observe/observed-request.ts';
import { namedAnswer, withAuditIdForClient } from '../proxy/audit-id.ts';
import { knowledgeMissing } from '../proxy/delivery.ts';
import { cleanResponseHeaders } from '../proxy/header-hygiene.ts';
import type { ConnectionInfo, InboundRequest } from '../proxy/inbound.ts';
import { ownPathSpelling, ownPathsPrefix } from '../proxy/own-path-target.ts';
import type { AdmittedRequest, Router } from '../proxy/router.ts';
import type { ClientCertificateOf } from './node-inbound.ts';
import type { OpenStreams } from './open-streams.ts';
import { answerHead, endAfterAnswer, writeLastAnswer } from './raw-answer.ts';
import type { TlsDialer } from './tls-dialer.ts';
import { openTunnelOf, tunnel } from './tunnel.ts';
import { dialUpgrade, type UpgradeAnswer } from './upgrade-dial.ts';
import { judgeUpgrade } from './upgrade-request.ts';

export interface UpgradeOptions {
  readonly router: Pick<Router, 'admit' | 'deliver'>;
  readonly dialer: TlsDialer;
  readonly clientCertificateOf: ClientCertificateOf;
  /** Milliseconds until a destination's answer to the upgrade; open tunnels have no limit. Default 60,000. */
  readonly headTimeout?: number;
  /** Where open tunnels are found when the server shuts down. Default: nowhere. */
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
  const { router, dialer, clientCertificateOf, headTimeout = 60_000 } = options;
  const judgement = judgeUpgrade(incoming.httpVersion, incoming.rawHeaders);
  if ('refusal' in judgement) {
    await writeLastAnswer(client, statusResponse('BadRequest', judgement.refusal));
    return;
  }
  const inbound = new UpgradeInbound(incoming, client, clientCertificateOf);
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
  else if (answer.kind === 'declined') await relayDeclined(client, answer.answer, admission.request);
  else {
    inbound.observed?.attemptAnswered(101);
    inbound.observed?.answered(101);
    openTunnel(client, firstBytes, answer, inbound, options.openStreams);
  }
}

/** The router's own answer, told to the observers. */
function answerLast(client: Duplex, response: Response, inbound: InboundRequest): Promise<void> {
  inbound.observed?.answered(response.status);
  return writeLastAnswer(client, namedAnswer(response, inbound));
}

function openTunnel(
  client: Duplex,
  firstBytes: Buffer,
  { head, socket, firstBytes: answered }: UpgradeAnswer & { readonly kind: 'switched' },
  inbound: InboundRequest,
  openStreams: OpenStreams | undefined,
): void {
  socket.on('error', () => socket.destroy());
  if (client.destroyed) {
    socket.destroy();
    return;
  }
  const headers = withAuditIdForClient([...head.rawHeaders], inbound);
  client.write(answerHead(101, head.statusMessage ?? '', headers));
  if (answered.length > 0) client.write(answered);
  if (firstBytes.length > 0) socket.write(firstBytes);
  tunnel(client, socket);
  if (openStreams === undefined) return;
  const opened = openTunnelOf(client, socket);
  openStreams.opened(opened);
  client.once('close', () => openStreams.closed(opened));
}

/**
 * The destination did not switch: its answer goes to the client and both connections end. What the client
 * sends meanwhile is thrown away; the destination would take it for requests of ours (CVE-2018-1002105).
 */
async function relayDeclined(
  client: Duplex,
  answer: IncomingMessage,
  { decision, inbound }: AdmittedRequest,
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
  const headers = withAuditIdForClient(cleanResponseHeaders(answer.rawHeaders), inbound);
  headers.push('Connection', 'close');
  client.write(answerHead(status, answer.statusMessage ?? '', headers));
  try {
    for await (const chunk of answer) {
      if (!client.write(chunk)) await drained(client);
    }
  } catch {
    // The body broke off: no clean end, or the client takes the part for the whole.
    client.destroy();
    return;
  } finally {
    answer.destroy();
  }
  endAfterAnswer(client);
}

function drained(client: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      client.off('drain', done).off('close', done);
      resolve();
    };
    if (client.destroyed) resolve();
    else client.on('drain', done).on('close', done);
  });
}

/** An upgrade request as the core sees it: no body, and a socket in place of a response. */
class UpgradeInbound implements InboundRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly connection: ConnectionInfo;
  readonly signal: AbortSignal;
  auditId: string | undefined;
  observed: ObservedRequest | undefined;
  readonly #socket: Duplex;
  readonly #finished: (() => void)[] = [];

  constructor(incoming: IncomingMessage, socket: Duplex, clientCertificateOf: ClientCertificateOf) {
    this.method = incoming.method ?? 'GET';
    this.target = incoming.url ?? '';
    this.headers = incoming.rawHeaders;
    this.connection = { remoteAddress: incoming.socket.remoteAddress, ...clientCertificateOf(incoming) };
    this.#socket = socket;
    const controller = new AbortController();
    this.signal = controller.signal;
    this.onFinished(() => controller.abort(new Error('the client closed the connection')));
  }

  body(): null {
    return null;
  }

  onFinished(listener: () => void): void {
    if (this.#socket.destroyed) {
      listener();
      return;
    }
    // One listener on the socket for all who ask: sockets warn of a leak from eleven on.
    if (this.#finished.length === 0) {
      this.#socket.once('close', () => {
        for (const finished of this.#finished) finished();
      });
    }
    this.#finished.push(listener);
  }
}
