import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** Node keeps it on the socket; its types leave it out. */
type OverSocket = TLSSocket & { readonly _parent?: Socket | null };

/** The TCP connection below a connection of TLS. */
export function connectionBelow(socket: TLSSocket): Socket | undefined {
  return (socket as OverSocket)._parent ?? undefined;
}
