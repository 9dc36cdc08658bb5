import { allHeaders, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import { AuthenticationError } from '../authenticator.ts';
import { websocketBearerToken } from '../websocket-bearer.ts';

/** RFC 6750 section 2.1, with the one space that kube-apiserver wants (pkg/authentication/request/bearertoken). */
const bearerCredentials = /^bearer ([\w\-.~+/]+=*)$/i;

/**
 * The bearer token of a request, from Authorization or a WebSocket subprotocol; `undefined` when there is none, or
 * one in each place: which of two speaks is then the API server's to say.
 * @throws {AuthenticationError} for a repeated Authorization: two readers could take two different lines for it.
 */
export function bearerToken(headers: RawHeaders): string | undefined {
  const lines = allHeaders(headers, 'authorization');
  if (lines.length > 1) {
    throw new AuthenticationError('the request has more than one Authorization header: send one');
  }
  const fromHeader = lines[0] === undefined ? undefined : bearerCredentials.exec(lines[0].trim())?.[1];
  const fromWebsocket = websocketBearerToken(headers);
  if (lines.length === 0) return fromWebsocket;
  return fromWebsocket === undefined ? fromHeader : undefined;
}
