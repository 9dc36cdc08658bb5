import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { withAuditId } from '../../request/headers.ts';
import type { ConnectionInfo, InboundRequest } from '../../request/inbound.ts';
import type { RequestRecord } from '../../request/request-record.ts';
import { ExchangeEnd } from '../exchange/exchange-end.ts';
import type { NodeInboundOptions } from '../exchange/node-inbound.ts';
import { writeLastResponse } from '../exchange/raw-response.ts';
import type { ExpiringRequest, RequestDeadlines } from '../exchange/request-deadlines.ts';
import { timedOutResponse } from '../exchange/timed-out-response.ts';

/** An upgrade request for the core: without a body, and with a socket for its response. */
export class UpgradeInbound implements InboundRequest, ExpiringRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly connection: ConnectionInfo;
  readonly signal: AbortSignal;
  auditId: string | undefined;
  record: RequestRecord | undefined;
  readonly #socket: Duplex;
  readonly #deadlines: RequestDeadlines | undefined;
  readonly #controller = new AbortController();
  readonly #end = new ExchangeEnd();
  #hasResponse = false;
  #liftDeadline: (() => void) | undefined;

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
    socket.once('close', this.#end.reached);
    this.onFinished(() => {
      this.liftDeadline();
      this.#controller.abort(new Error('the client closed the connection'));
    });
  }

  body(): null {
    return null;
  }

  /**
   * Must be called before a response is written; only the first caller may write.
   * @returns false if there is a response already, or the client has gone
   */
  takeResponse(): boolean {
    if (this.#hasResponse || this.#socket.destroyed) return false;
    this.#hasResponse = true;
    return true;
  }

  limitDuration(): void {
    if (!this.#socket.destroyed) this.#liftDeadline = this.#deadlines?.add(this);
  }

  /** A tunnel has no deadline. */
  liftDeadline(): void {
    this.#liftDeadline?.();
  }

  expire(): void {
    if (this.#socket.destroyed) return;
    this.record?.turnedAway('RequestTimeout');
    if (!this.takeResponse()) {
      // The client must not take a part for the whole.
      this.#socket.destroy();
      return;
    }
    // What an upgrade has begun must not be begun twice, not even by GET.
    const { code, headers, body } = timedOutResponse(false);
    this.record?.responded(code);
    void writeLastResponse(this.#socket, withAuditId(new Response(body, { status: code, headers }), this));
    // Cancels the request to the destination.
    this.#controller.abort(new Error('the request took longer than the request time-out'));
  }

  onFinished(listener: () => void): void {
    if (this.#socket.destroyed) listener();
    else this.#end.add(listener);
  }
}
