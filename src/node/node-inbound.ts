import type { IncomingMessage, ServerResponse } from 'node:http';
import { Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { Readable } from 'node:stream';
import type { RawHeaders } from '../apimachinery/raw-headers.ts';
import type { ObservedRequest } from '../observe/observed-request.ts';
import { auditIdHeader, auditIdOf } from '../proxy/audit-id.ts';
import type { GetInboundRequest } from '../proxy/handler-environment.ts';
import {
  announcesBody,
  type ConnectionInfo,
  type InboundRequest,
  inboundFromRequest,
} from '../proxy/inbound.ts';
import { withJoinedCookies, withoutPseudoHeaders } from './connection-headers.ts';
import type { Expiring, RequestDeadlines } from './request-deadlines.ts';
import { endTimedOut } from './request-timed-out.ts';

/**
 * What the client certificate under a request proves. `getPeerCertificate()` alone proves nothing: with
 * `rejectUnauthorized: false` it also reports certificates that no trusted authority has signed.
 */
export type ClientCertificateOf = (
  incoming: NodeIncoming,
) => Pick<ConnectionInfo, 'clientCertificate' | 'clientCertificateError'>;

export type NodeIncoming = IncomingMessage | Http2ServerRequest;
export type NodeOutgoing = ServerResponse | Http2ServerResponse;

/** What the Node server hands to the fetch handler beside the web `Request`. */
export interface NodeBindings {
  readonly incoming: NodeIncoming;
  readonly outgoing: NodeOutgoing;
  readonly inbound: NodeInboundRequest;
}

/** A request on Node, as it stood on the wire, with the sockets that carry it. */
export class NodeInboundRequest implements InboundRequest, Expiring {
  readonly method: string;
  readonly target: string;
  readonly headers: RawHeaders;
  readonly httpVersion: string;
  readonly incoming: NodeIncoming;
  readonly outgoing: NodeOutgoing;
  auditId: string | undefined;
  isPassedOn: boolean | undefined;
  observed: ObservedRequest | undefined;
  readonly #clientCertificateOf: ClientCertificateOf;
  readonly #deadlines: RequestDeadlines | undefined;
  #connection: ConnectionInfo | undefined;
  #signal: AbortSignal | undefined;
  #hasBody: boolean | undefined;

  /** @param deadlines default: it may take as long as it likes. */
  constructor(
    incoming: NodeIncoming,
    outgoing: NodeOutgoing,
    clientCertificateOf: ClientCertificateOf,
    deadlines?: RequestDeadlines,
  ) {
    this.method = incoming.method ?? 'GET';
    this.target = incoming.url ?? '';
    this.headers =
      incoming instanceof Http2ServerRequest
        ? withJoinedCookies(withoutPseudoHeaders(incoming.rawHeaders))
        : incoming.rawHeaders;
    this.httpVersion = incoming.httpVersion;
    this.incoming = incoming;
    this.outgoing = outgoing;
    this.#clientCertificateOf = clientCertificateOf;
    this.#deadlines = deadlines;
  }

  get connection(): ConnectionInfo {
    this.#connection ??= {
      remoteAddress: remoteAddressOf(this.incoming),
      ...this.#clientCertificateOf(this.incoming),
    };
    return this.#connection;
  }

  /** Whether a body follows the head. HTTP/2 says so in its framing, not in a header (RFC 9113 section 8.1). */
  get hasBody(): boolean {
    this.#hasBody ??=
      this.incoming instanceof Http2ServerRequest
        ? !this.incoming.stream.endAfterHeaders
        : announcesBody(this);
    return this.#hasBody;
  }

  body(): ReadableStream<Uint8Array> | null {
    return this.hasBody ? Readable.toWeb(this.incoming as Readable) : null;
  }

  get signal(): AbortSignal {
    if (this.#signal === undefined) {
      const controller = new AbortController();
      this.#signal = controller.signal;
      this.onFinished(() => {
        if (!isAnswered(this.outgoing)) controller.abort(new Error('the client closed the connection'));
      });
    }
    return this.#signal;
  }

  limitDuration(): void {
    const bucket = this.#deadlines?.add(this);
    if (bucket !== undefined) this.onFinished(() => bucket.delete(this));
  }

  expire(): void {
    if (isClosed(this.outgoing)) return;
    this.observed?.dropped('RequestTimeout');
    const names = { [auditIdHeader]: auditIdOf(this) };
    if (endTimedOut(this.incoming, this.outgoing, names)) this.observed?.answered(504);
  }

  onFinished(listener: () => void): void {
    if (isClosed(this.outgoing)) listener();
    else this.outgoing.once('close', listener);
  }
}

/** Whether the exchange on `outgoing` is over, well or not. */
export function isClosed(outgoing: NodeOutgoing): boolean {
  return 'stream' in outgoing ? outgoing.stream.destroyed : outgoing.destroyed;
}

/** Whether the answer was handed to the connection to its end. */
function isAnswered(outgoing: NodeOutgoing): boolean {
  if (!('stream' in outgoing)) return outgoing.writableFinished;
  return outgoing.stream.writableFinished && outgoing.stream.rstCode === 0;
}

function remoteAddressOf(incoming: NodeIncoming): string | undefined {
  // A session that is gone has no socket any more.
  if (incoming instanceof Http2ServerRequest) return incoming.stream.session?.socket.remoteAddress;
  return incoming.socket.remoteAddress;
}

/**
 * Gives the core the request as it stood on the wire: `createApp({ inbound: nodeInbound, … })`. Where the app
 * is called without a server (`app.fetch(new Request(…))`) it falls back to what `Request` still has.
 */
export const nodeInbound: GetInboundRequest = (context) => {
  const { env } = context;
  // Hono leaves `env` undefined when `fetch` is called without one.
  if (env !== undefined && 'inbound' in env && env.inbound instanceof NodeInboundRequest) return env.inbound;
  return inboundFromRequest(context.req.raw);
};
