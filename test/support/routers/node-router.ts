import type { TestContext } from 'node:test';
import type { RawHeaders } from '../../../src/apimachinery/raw-headers.ts';
import { statusResponse } from '../../../src/apimachinery/status.ts';
import { NodeTransport, type NodeTransportOptions } from '../../../src/node/destinations/node-transport.ts';
import {
  createRouterServer,
  type RouterServer,
  type RouterServerOptions,
} from '../../../src/node/serving/server.ts';
import { upgradeListener } from '../../../src/node/upgrades/upgrade.ts';
import type { Router } from '../../../src/proxy/admitted-request.ts';
import { type Destination, TransportError } from '../../../src/request/destination.ts';
import { cleanRequestHeaders, cleanResponseHeaders } from '../../../src/request/headers.ts';
import type { InboundRequest } from '../../../src/request/inbound.ts';
import {
  type OnResponseHead,
  type OutboundRequest,
  type Outcome,
  ownResponse,
  responseOf,
  type SendResult,
} from '../../../src/request/transport.ts';
import { credentials, outboundTo, routerPair } from '../api-servers/node-exchange.ts';
import { noRequestInfo } from '../request-info.ts';

/** A router that sends everything to one destination: the Node adapter without the decision. */
export interface TestRouter {
  readonly port: number;
  readonly server: RouterServer;
  readonly transport: NodeTransport;
  /** Errors that kept destinations from answering, in order. */
  readonly failures: TransportError[];
}

interface TestRouterOptions {
  readonly destination: Destination;
  /** Header lines put behind those that survive the hygiene, as identity stamping does. */
  readonly stamped?: RawHeaders;
  readonly outbound?: Partial<OutboundRequest>;
  readonly onResponseHead?: OnResponseHead;
  readonly transport?: Partial<NodeTransportOptions>;
  readonly server?: Partial<RouterServerOptions>;
  /** Identifies the callers of upgrades. Default: everybody passes through. */
  readonly identify?: Router['identify'];
  readonly upgradeHeadTimeout?: number;
}

/** Started on a free port, closed at the end of the test. */
export async function startRouter(context: TestContext, options: TestRouterOptions): Promise<TestRouter> {
  const { destination, stamped = [], upgradeHeadTimeout } = options;
  const transport = new NodeTransport({ credentials, ...options.transport });
  const failures: TransportError[] = [];
  const outboundFor = (inbound: InboundRequest): OutboundRequest =>
    outboundTo(destination, {
      method: inbound.method,
      target: inbound.target,
      headers: [...cleanRequestHeaders(inbound.headers), ...stamped],
      ...options.outbound,
    });
  const onResponseHead: OnResponseHead =
    options.onResponseHead ?? ((head) => ({ kind: 'forward', headers: cleanResponseHeaders(head.headers) }));
  const attempt = async (send: () => Promise<SendResult>): Promise<Outcome> => {
    try {
      const result = await send();
      return result.kind === 'refusal' ? ownResponse(result.response) : result;
    } catch (error) {
      if (!(error instanceof TransportError)) throw error;
      failures.push(error);
      return ownResponse(statusResponse('ServiceUnavailable', error.code));
    }
  };
  const fetch: RouterServerOptions['fetch'] =
    options.server?.fetch ??
    (async (_request, { inbound }) =>
      responseOf(await attempt(() => transport.send(outboundFor(inbound), inbound, onResponseHead))));
  const server = createRouterServer({
    fetch,
    tls: { cert: routerPair.chain, key: routerPair.privateKey },
    clientCertificateOf: () => ({}),
    onUpgrade: upgradeListener({
      router: {
        accept: ({ target }) => ({ ...noRequestInfo, path: target, verb: 'get' }),
        identify: options.identify ?? (() => ({ kind: 'passthrough' })),
        decide: (inbound, requestInfo, caller) => ({
          inbound,
          requestInfo,
          caller,
          view: { snapshot: undefined, known: undefined, local: undefined },
          decision: { decision: 'local', reason: 'NotAResourceRequest', candidates: [] },
        }),
        deliver: (request, send) => attempt(() => send(outboundFor(request.inbound), request)),
      },
      dialer: transport.dialer,
      clientCertificateOf: () => ({}),
      ...(upgradeHeadTimeout === undefined ? {} : { headTimeout: upgradeHeadTimeout }),
    }),
    ...options.server,
  });
  const { port } = await server.listen(0, '127.0.0.1');
  context.after(async () => {
    await server.close(0);
    transport.close();
  });
  return { port, server, transport, failures };
}
