import type { TLSSocket } from 'node:tls';
import { connectionBelow } from './connection-below.ts';

/** The response of Go's servers, and so of kube-apiserver (net/http, `conn.serve`). */
const response = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

/** Tells a client that speaks HTTP without TLS so, in HTTP: a connection that ends without a word tells it nothing. */
export function refusePlainHttp(error: Error, socket: TLSSocket): void {
  if (!('code' in error) || error.code !== 'ERR_SSL_HTTP_REQUEST') return;
  // It is still open then.
  const connection = connectionBelow(socket);
  if (!connection?.writable) return;
  connection.write(response);
  // Not `end`: a client that never ends its half would keep the connection.
  connection.destroySoon();
}
