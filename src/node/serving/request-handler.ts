import type { IncomingMessage, ServerResponse } from 'node:http';
import { statusAnswer } from '../../apimachinery/status.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import type { ServerObserver } from '../exchange/connection-observer.ts';
import { faultOfHead } from '../exchange/http1-request-head.ts';
import type { ClientCertificateOf, NodeInboundOptions } from '../exchange/node-inbound.ts';
import type { RequestDeadlines } from '../exchange/request-deadlines.ts';
import { type FetchListener, type FetchListenerOptions, fetchListener } from './fetch-listener.ts';
import { Http1Inbound } from './http1-inbound.ts';
import { releaseUnreadHttp1Body } from './unread-body.ts';

export interface RequestHandlerOptions extends FetchListenerOptions {
  readonly clientCertificateOf: ClientCertificateOf;
  /** What ends requests that take too long. Default: nothing does. */
  readonly deadlines?: RequestDeadlines;
  /** Told of connections, for metrics. Default: nobody. */
  readonly observer?: ServerObserver | undefined;
  /** Default: logs nothing. */
  readonly logger?: Logger;
}

/** Hands each request by HTTP/1.1 to the fetch handler, and has its response written. */
export class RequestHandler {
  readonly #inboundOptions: NodeInboundOptions;
  readonly #observer: ServerObserver | undefined;
  readonly #logger: Logger;
  readonly #fetchListener: FetchListener;

  constructor(options: RequestHandlerOptions) {
    const { clientCertificateOf, deadlines, observer, logger = silentLogger } = options;
    this.#inboundOptions = { clientCertificateOf, deadlines };
    this.#observer = observer;
    this.#logger = logger;
    this.#fetchListener = fetchListener(options, logger);
  }

  /** A request by HTTP/1.1. */
  handle(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const inbound = this.#http1Inbound(incoming, outgoing);
    if (inbound === undefined) return;
    this.#fetchListener(incoming, outgoing, inbound).catch((error: unknown) =>
      this.#unwritten(outgoing, error),
    );
  }

  /** @returns `undefined` for a head that was refused. */
  #http1Inbound(incoming: IncomingMessage, outgoing: ServerResponse): Http1Inbound | undefined {
    const fault = faultOfHead(incoming.httpVersion, incoming.rawHeaders);
    if (fault !== undefined) {
      this.#observer?.malformed();
      refuseHead(outgoing, fault);
      return undefined;
    }
    const inbound = new Http1Inbound(incoming, outgoing, this.#inboundOptions);
    if (inbound.hasBody) releaseUnreadHttp1Body(incoming, outgoing);
    return inbound;
  }

  /** What cannot be written ends its connection, never the process. */
  #unwritten(outgoing: ServerResponse, error: unknown): void {
    this.#logger.error({ error: String(error) }, 'An answer could not be written');
    outgoing.destroy(error instanceof Error ? error : new Error(String(error)));
  }
}

function refuseHead(outgoing: ServerResponse, fault: string): void {
  const { code, headers, body } = statusAnswer('BadRequest', `the request is no valid HTTP: ${fault}`);
  outgoing.writeHead(code, { ...headers, connection: 'close' }).end(body);
}
