import { allHeaders, firstHeader, type RawHeaders } from '../apimachinery/raw-headers.ts';
import { decodeBase64url } from '../runtime/bytes.ts';

export const websocketProtocolHeader = 'sec-websocket-protocol';

/** k8s.io/apiserver pkg/authentication/request/websocket/protocol.go. */
const bearerProtocolPrefix = 'base64url.bearer.authorization.k8s.io.';

/** Characters of a line. Tokens have a few thousand. */
const maximumLine = 32 * 1024;

function carriesToken(protocol: string): boolean {
  // Servers compare exactly; a token under another spelling is no less a secret.
  return protocol.trim().toLowerCase().startsWith(bearerProtocolPrefix);
}

/**
 * A Sec-WebSocket-Protocol value without its bearer tokens, the other subprotocols in order; `undefined` when
 * none is left. A line that is too long to be searched goes as a whole.
 */
export function withoutWebsocketBearer(value: string): string | undefined {
  if (value.length > maximumLine) return undefined;
  const protocols = value.split(',');
  if (!protocols.some(carriesToken)) return value;
  const others = protocols.map((protocol) => protocol.trim()).filter((protocol) => !carriesToken(protocol));
  return others.some((protocol) => protocol !== '') ? others.join(', ') : undefined;
}

/**
 * The bearer token of a WebSocket handshake, decoded; `undefined` unless there is exactly one that kube-apiserver would take
 * too, beside another subprotocol that can be selected.
 */
export function websocketBearerToken(headers: RawHeaders): string | undefined {
  if (firstHeader(headers, 'upgrade')?.trim().toLowerCase() !== 'websocket') return undefined;
  const lines = allHeaders(headers, websocketProtocolHeader);
  if (lines.reduce((length, line) => length + line.length, 0) > maximumLine) return undefined;
  const protocols = lines.flatMap((value) => value.split(',')).map((protocol) => protocol.trim());
  const [carrier, ...more] = protocols.filter(carriesToken);
  if (carrier === undefined || more.length > 0 || protocols.length < 2) return undefined;
  if (!carrier.startsWith(bearerProtocolPrefix)) return undefined;
  const token = decodedToken(carrier.slice(bearerProtocolPrefix.length));
  return token === '' ? undefined : token;
}

function decodedToken(encoded: string): string | undefined {
  // The decoder also takes padding and whitespace, which the receiver does not.
  if (!/^[\w-]*$/.test(encoded)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(decodeBase64url(encoded));
  } catch {
    return undefined;
  }
}
