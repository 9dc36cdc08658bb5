import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { RawHeaders } from '../apimachinery/raw-headers.ts';
import { statusResponse } from '../apimachinery/status.ts';
import { type Logger, silentLogger } from '../observe/logger.ts';
import { knowledgeMissing } from '../proxy/delivery.ts';
import { cleanResponseHeaders } from '../proxy/header-hygiene.ts';
import type { ConnectionInfo, InboundRequest } from '../proxy/inbound.ts';
import { ownPathSpelling, ownPathsPrefix } from '../proxy/own-path-target.ts';
import type { AdmittedRequest, Router } from '../proxy/router.ts';
import type { ClientCertificateOf } from './node-inbound.ts';
import { answerHead, endAfterAnswer, writeLastAnswer } from './raw-answer.ts';
import type { TlsDialer } from './tls-dialer.ts';
import { tunnel } from './tunnel.ts';
import { dialUpgrade, type UpgradeAnswer } from './upgrade-dial.ts';
import { judgeUpgrade } from './upgrade-request.ts';

export interface UpgradeOptions {
  readonly router: Pick<Router, 'admit' | 'deliver'>;
  readonly dialer: TlsDialer;
  readonly clientCertificateOf: ClientCertificateOf;
  /** Milliseconds until a destination's answer to the upgrade; open tunnels have no limit. Default 60,000. */
  readonly headTimeout?: number;
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
    await writeLastAnswer(client, admission.response);
    return;
  }
  if (ownPathSpelling(inbound.target, admission.request.requestInfo.path) !== 'none') {
    // The fetch handler's checks are not on this way; nothing under the prefix goes to an API server.
    const message = `nothing under ${ownPathsPrefix} can be upgraded: send the request without Upgrade`;
    await writeLastAnswer(client, statusResponse('BadRequest', message));
    return;
  }
  const { token } = judgement;
  const answer = await router.deliver<UpgradeAnswer>(admission.request, (outbound) =>
    dialUpgrade(dialer, outbound, { token, headTimeout, signal: inbound.signal }),
  );
  if (answer instanceof Response) await writeLastAnswer(client, answer);
  else if (answer.kind === 'declined') await relayDeclined(client, answer.answer, admission.request);
  else openTunnel(client, firstBytes, answer);
}

function openTunnel(
  client: Duplex,
  firstBytes: Buffer,
  { head, socket, firstBytes: answered }: UpgradeAnswer & { readonly kind: 'switched' },
): void {
  socket.on('error', () => socket.destroy());
  if (client.destroyed) {
    socket.destroy();
    return;
  }
  client.write(answerHead(101, head.statusMessage ?? '', head.rawHeaders));
  if (answered.length > 0) client.write(answered);
  if (firstBytes.length > 0) socket.write(firstBytes);
  tunnel(client, socket);
}

/**
 * The destination did not switch: its answer goes to the client and both connections end. What the client
 * sends meanwhile is thrown away; the destination would take it for requests of ours (CVE-2018-1002105).
 */
async function relayDeclined(
  client: Duplex,
  answer: IncomingMessage,
  { decision }: AdmittedRequest,
): Promise<void> {
  const status = answer.statusCode ?? 0;
  if (status === 404 && decision.reason === 'NoSnapshot') {
    answer.destroy();
    await writeLastAnswer(client, knowledgeMissing());
    return;
  }
  if (status >= 300 && status < 400) {
    answer.destroy();
    // Neither followed nor passed on (CVE-2020-8559).
    const message = 'the API server that serves this resource answered the upgrade with a redirect';
    await writeLastAnswer(client, statusResponse('ServiceUnavailable', message));
    return;
  }
  const headers = [...cleanResponseHeaders(answer.rawHeaders), 'Connection', 'close'];
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
  readonly #socket: Duplex;

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
    if (this.#socket.destroyed) listener();
    else this.#socket.once('close', listener);
  }
}
