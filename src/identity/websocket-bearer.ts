import { allHeaders, type RawHeaders } from '../apimachinery/raw-headers.ts';

/** The request header in which a WebSocket client names its subprotocols, in lower case. */
export const websocketProtocolHeader = 'sec-websocket-protocol';

/**
 * Subprotocol that carries a bearer token, since a browser cannot set Authorization on a WebSocket
 * (k8s.io/apiserver pkg/authentication/request/websocket/protocol.go).
 */
const bearerProtocolPrefix = 'base64url.bearer.authorization.k8s.io.';

function carriesToken(protocol: string): boolean {
  // Servers compare exactly; a token under another spelling is no less a secret.
  return protocol.trim().toLowerCase().startsWith(bearerProtocolPrefix);
}

/** Whether a WebSocket subprotocol carries a bearer token. */
export function hasWebsocketBearer(headers: RawHeaders): boolean {
  return allHeaders(headers, websocketProtocolHeader).some((value) => value.split(',').some(carriesToken));
}

/**
 * A Sec-WebSocket-Protocol value without its bearer tokens, the other subprotocols in order; `undefined` when
 * none is left.
 */
export function withoutWebsocketBearer(value: string): string | undefined {
  const protocols = value.split(',');
  if (!protocols.some(carriesToken)) return value;
  const others = protocols.map((protocol) => protocol.trim()).filter((protocol) => !carriesToken(protocol));
  return others.some((protocol) => protocol !== '') ? others.join(', ') : undefined;
}
