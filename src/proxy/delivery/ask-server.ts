import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { parseRequestInfo } from '../../apimachinery/request-info.ts';
import type { Destination } from '../../request/destination.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import { responseOf } from '../../request/outcome.ts';
import type { Transport } from '../../request/transport.ts';
import type { Caller } from '../../request/user-info.ts';
import type { Decision } from '../../routing/decision.ts';
import { buildOutboundRequest, type OutboundOptions } from './outbound.ts';

export interface AskOptions extends OutboundOptions {
  readonly transport: Transport;
}

interface ServerQuestion {
  readonly destination: Destination;
  /** Request target of a GET; names no resource. */
  readonly target: string;
  readonly headers: RawHeaders;
  /** Gives the question up. */
  readonly signal: AbortSignal;
}

interface UpstreamResponse {
  readonly response: Response;
  /** Header lines as the server sent them. */
  readonly headers: RawHeaders;
}

/**
 * Who asks: the router itself. Every authenticated user may read documents and health, by the ClusterRoles
 * `system:discovery` and `system:public-info-viewer`.
 */
const routerItself: Caller = {
  kind: 'authenticated',
  user: {
    name: 'system:mixed-version-proxy',
    uid: '',
    groups: ['system:authenticated'],
    extra: new Map(),
  },
  authenticator: 'none',
  viaVerifiedPeer: false,
};

const decision: Decision = { decision: 'local', reason: 'NotAResourceRequest', candidates: [] };

/**
 * Asks a server on the router's own account, over the same connections and stamped at the same place as forwarded
 * requests. What goes to a peer is marked as rerouted, so that a router in front of it responds for that server.
 * @throws {TransportError | AssertionTooLargeError} when there is no response.
 */
export async function askServer(question: ServerQuestion, options: AskOptions): Promise<UpstreamResponse> {
  const { destination, target, headers, signal } = question;
  const inbound: InboundRequest = {
    method: 'GET',
    target,
    headers,
    connection: {},
    body: () => null,
    signal,
  };
  const request = { inbound, requestInfo: parseRequestInfo('GET', target), caller: routerItself, decision };
  const outbound = await buildOutboundRequest(request, destination, options);
  let received: RawHeaders = [];
  const result = await options.transport.send(outbound, inbound, (head) => {
    received = head.headers;
    return { kind: 'forward', headers: received };
  });
  return { response: responseOf(result), headers: received };
}
