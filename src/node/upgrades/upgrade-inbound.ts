import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { namedAnswer } from '../../request/audit-id.ts';
import type { ConnectionInfo, InboundRequest } from '../../request/inbound.ts';
import type { ObservedRequest } from '../../request/observed-request.ts';
import { ExchangeEnd } from '../exchange/exchange-end.ts';
import type { ClientCertificateOf } from '../exchange/node-inbound.ts';
import { writeLastAnswer } from '../exchange/raw-answer.ts';
import type { Expiring, RequestDeadlines } from '../exchange/request-deadlines.ts';
import { timedOutError, timedOutResponse } from '../exchange/request-timed-out.ts';

export interface UpgradeInboundOptions {
  readonly clientCertificateOf: ClientCertificateOf;
  /** What ends upgrades of requests that are not long-running. Default: nothing does. */
  readonly deadlines?: RequestDeadlines | undefined;
}

/** An upgrade request as the core sees it: no body, and a socket in place of a response. */
export class UpgradeInbound implements InboundRequest, Expiring {
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly connection: ConnectionInfo;
  readonly signal: AbortSignal;
  auditId: string | undefined;
  observed: ObservedRequest | undefined;
  readonly #socket: Duplex;
  readonly #deadlines: RequestDeadlines | undefined;
  readonly #controller = new AbortController();
  #end: ExchangeEnd | undefined;
  /** Where it stands among the deadlines, while it has one. */
  #place: number | undefined;
  #hasAnswer = false;

  constructor(incoming: IncomingMessage, socket: Duplex, options: UpgradeInboundOptions) {
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
    this.onFinished(() => {
      this.liftDeadline();
      this.#controller.abort(new Error('the client closed the connection'));
    });
  }

  body(): null {
    return null;
  }

  /**
   * Asked by whoever is about to write the head of an answer; the first one gets it.
   * @returns whether the answer may be written: not behind another one, nor when the client has gone.
   */
  takeAnswer(): boolean {
    if (this.#hasAnswer || this.#socket.destroyed) return false;
    this.#hasAnswer = true;
    return true;
  }

  limitDuration(): void {
    if (!this.#socket.destroyed) this.#place = this.#deadlines?.add(this);
  }

  /** A tunnel may stay open as long as it likes. */
  liftDeadline(): void {
    if (this.#place !== undefined) this.#deadlines?.remove(this, this.#place);
    this.#place = undefined;
  }

  expire(): void {
    if (this.#socket.destroyed) return;
    this.observed?.dropped('RequestTimeout');
    if (!this.takeAnswer()) {
      // Broken off: the client must not take the part for the whole.
      this.#socket.destroy();
      return;
    }
    this.observed?.answered(504);
    void writeLastAnswer(
      this.#socket,
      namedAnswer(timedOutResponse({ method: this.method, hasBody: true }), this),
    );
    // The destination that is being asked: its answer would come to nobody.
    this.#controller.abort(timedOutError());
  }

  onFinished(listener: () => void): void {
    if (this.#socket.destroyed) {
      listener();
      return;
    }
    // One listener on the socket for all who ask: sockets warn of a leak from eleven on.
    if (this.#end === undefined) {
      this.#end = new ExchangeEnd();
      this.#socket.once('close', this.#end.reached);
    }
    this.#end.add(listener);
  }
}
