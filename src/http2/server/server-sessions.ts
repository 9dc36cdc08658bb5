import type { TLSSocket } from 'node:tls';
import { headTooLargeResponse } from '../../node/client-error.ts';
import { StreamInbound } from '../../node/http2-stream-inbound.ts';
import type { NodeInboundOptions } from '../../node/node-inbound.ts';
import { maximumHeaderBytesOf, type ServerLimits } from '../../node/server-limits.ts';
import type { Logger } from '../../observe/logger.ts';
import { AddressConduct } from './address-conduct.ts';
import type { RequestHead } from './request-head.ts';
import { ServerSession, type ServerSessionHost } from './server-session.ts';
import type { ServerStream } from './server-stream.ts';
import { UnfinishedHeads } from './unfinished-heads.ts';

export interface ServerSessionsOptions {
  readonly inboundOptions: NodeInboundOptions;
  readonly limits: ServerLimits;
  /** Answers requests; called with each. */
  readonly handle: (inbound: StreamInbound) => void;
  readonly onSession: (session: ServerSession) => void;
  /** @returns what is to be called when the request is over. */
  readonly onRequest: (session: ServerSession) => () => void;
  readonly onSessionClosed: (session: ServerSession) => void;
  readonly logger: Logger;
}

/** The HTTP/2 connections of one server that are read here. */
export class ServerSessions implements ServerSessionHost {
  readonly limits: ServerLimits;
  readonly addresses = new AddressConduct();
  readonly #options: ServerSessionsOptions;
  readonly #unfinishedOfOthers: UnfinishedHeads;
  readonly #unfinishedOfVerified: UnfinishedHeads;

  constructor(options: ServerSessionsOptions) {
    this.#options = options;
    this.limits = options.limits;
    const { maximumUnfinishedHeads: maximumBytes, headerBlockTimeout: timeout } = options.limits;
    this.#unfinishedOfOthers = new UnfinishedHeads({ maximumBytes, timeout });
    // Apart, so that nobody without a certificate takes the room of those who have one.
    this.#unfinishedOfVerified = new UnfinishedHeads({ maximumBytes, timeout });
  }

  /** A new connection of an HTTP/2 client. */
  opened(socket: TLSSocket): void {
    this.#options.onSession(new ServerSession(socket, this));
  }

  isVerified(socket: TLSSocket): boolean {
    return this.#options.inboundOptions.clientCertificateOf({ socket }).clientCertificate !== undefined;
  }

  maximumHeaderBytes(isVerified: boolean): number {
    return maximumHeaderBytesOf(isVerified);
  }

  unfinishedHeads(isVerified: boolean): UnfinishedHeads {
    return isVerified ? this.#unfinishedOfVerified : this.#unfinishedOfOthers;
  }

  headTooLarge(session: ServerSession, stream: ServerStream, method: string): void {
    const head = { method, target: '', headers: [], contentLength: undefined, expectation: undefined };
    const inbound = new StreamInbound(head, stream, session, this.#options.inboundOptions);
    inbound.onFinished(this.#options.onRequest(session));
    inbound.answerOrBreakOff(headTooLargeResponse());
  }

  requested(session: ServerSession, stream: ServerStream, head: RequestHead): void {
    const { inboundOptions, handle, onRequest } = this.#options;
    const inbound = new StreamInbound(head, stream, session, inboundOptions);
    inbound.onFinished(onRequest(session));
    const { method, expectation } = head;
    // RFC 9110 sections 9.3.6 and 10.1.1.
    if (method === 'CONNECT') inbound.answerOrBreakOff(new Response(null, { status: 405 }));
    else if (expectation !== undefined && expectation !== '100-continue') {
      inbound.answerOrBreakOff(new Response(null, { status: 417 }));
    } else {
      if (expectation !== undefined && inbound.hasBody) stream.respondInterim(100);
      handle(inbound);
    }
  }

  failed(error: unknown): void {
    this.#options.logger.error({ error: String(error) }, 'An HTTP/2 connection failed');
  }

  closed(session: ServerSession): void {
    this.#options.onSessionClosed(session);
  }
}
