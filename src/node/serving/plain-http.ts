import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** The connection below TLS, which is still open then. Node keeps it on the socket; its types leave it out. */
type OverSocket = TLSSocket & { readonly _parent?: Socket | null };

/** The response of Go's servers, and so of kube-apiserver (net/http, `conn.serve`). */
const response = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';

/** Tells a client that speaks HTTP without TLS so, in HTTP: a connection that ends without a word tells it nothing. */
export function refusePlainHttp(error: Error, socket: TLSSocket): void {
  if (!('code' in error) || error.code !== 'ERR_SSL_HTTP_REQUEST') return;
  const { _parent: connection } = socket as OverSocket;
  if (!connection?.writable) return;
  connection.write(response);
  // Not `end`: a client that never ends its half would keep the connection.
  connection.destroySoon();
}
