import { rawHeadersOf } from '../../apimachinery/raw-headers.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import type { AdmittedRequest, Router, Send } from '../../proxy/admitted-request.ts';
import { handleRequest } from '../../proxy/handle-request.ts';
import { judgeDeclinedUpgrade } from '../../proxy/judge-response.ts';
import { type FetchSender, outboundHeaders } from '../../request/fetch-transport.ts';
import { cleanResponseHeaders } from '../../request/headers.ts';
import {
  contentOf,
  type OutboundRequest,
  passedOnResponse,
  type ResponseToSend,
  responseOf,
  type SendResult,
} from '../../request/transport.ts';
import { webHeaders } from '../../request/web-headers.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { WorkerInboundRequest } from '../platform/worker-inbound.ts';

interface SwitchedResponse extends Response {
  readonly webSocket?: object | null;
}

/** The handshake is the runtime's own on either side (RFC 6455 section 4): a client's key is of no use there. */
const handshakeHeaders = [
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
  'sec-websocket-accept',
];

/**
 * Carries a WebSocket (exec, attach, port-forward of kubectl 1.30 and newer) through the same steps as every request. Everything
 * else is refused here, for `fetch` would send it on without its Upgrade header, as an ordinary request.
 */
export async function upgradeWebSocket(
  inbound: WorkerInboundRequest,
  router: Router,
  send: FetchSender,
  logger: Logger,
): Promise<Response> {
  const protocol = inbound.web.headers.get('upgrade')?.trim().toLowerCase();
  if (protocol !== 'websocket') return refuseProtocol();
  const connect: Send = async (outbound, request) => {
    const headers = outboundHeaders(outbound, inbound);
    for (const name of handshakeHeaders) headers.delete(name);
    headers.set('upgrade', 'websocket');
    const response: SwitchedResponse = await send(outbound, inbound, headers);
    return response.webSocket
      ? switched(response, response.webSocket)
      : declined(response, request, outbound);
  };
  return responseOf(
    await handleRequest(inbound, router, (request) => router.deliver(request, connect), logger),
  );
}

/**
 * The response that kubectl shows when it asks for SPDY: 400, as an API server responds to an upgrade that it cannot
 * make (k8s.io/apimachinery pkg/util/httpstream). kubectl 1.29 has WebSockets behind a variable of its environment.
 */
function refuseProtocol(): Response {
  return statusResponse(
    'BadRequest',
    'this router runs on a runtime that can upgrade to WebSocket only, not to SPDY: use kubectl 1.30 or newer, or ' +
      'kubectl 1.29 with KUBECTL_REMOTE_COMMAND_WEBSOCKETS=true (port-forward: 1.31 or newer)',
  );
}

function switched(response: Response, webSocket: object): ResponseToSend {
  const headers = new Headers();
  const protocol = response.headers.get('sec-websocket-protocol');
  if (protocol !== null) headers.set('sec-websocket-protocol', protocol);
  const init: ResponseInit & { readonly webSocket: object } = { status: 101, headers, webSocket };
  return passedOnResponse(new Response(null, init));
}

async function declined(
  response: Response,
  request: AdmittedRequest,
  outbound: OutboundRequest,
): Promise<SendResult> {
  const { status } = response;
  const head = { status, headers: rawHeadersOf(response.headers) };
  const { instead, content } = await judgeDeclinedUpgrade(request, outbound, head, () => contentOf(response));
  if (instead !== undefined) {
    if (content === undefined) await response.body?.cancel();
    return instead;
  }
  const headers = webHeaders(cleanResponseHeaders(head.headers), response.headers);
  return passedOnResponse(new Response(content ?? response.body, { status, headers }));
}
