import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';

interface TcpHandle {
  close(done: () => void): unknown;
  reset(done: () => void): unknown;
}

/** Node keeps these on the socket; its types leave them out. */
type OverSocket = TLSSocket & {
  /** The socket that carries an accepted connection. */
  readonly _parent?: Socket | null;
  /** The handle of TLS that has dialled itself: there is no socket that carries such a connection. */
  readonly _handle?: { readonly _parent?: TcpHandle | null } | null;
};

export function connectionBelow(socket: TLSSocket): Socket | undefined {
  return (socket as OverSocket)._parent ?? undefined;
}

/**
 * Ends a connection with a reset, which empties its send queue. Closed in order, that stays in the kernel until the other end has
 * taken it (tcp(7), tcp_orphan_retries): for minutes with a client that reads nothing, and a server that nobody reaches carries
 * out a request of before once it is reached again.
 */
export function resetConnection(socket: Duplex): void {
  // A handle that is being shut down cannot be reset, and Node would never close it (libuv, uv_tcp_close_reset).
  if (!socket.writableEnded) prepareReset(socket);
  socket.destroy();
}

function prepareReset(socket: Duplex): void {
  const below = socket instanceof TLSSocket ? connectionBelow(socket) : undefined;
  const dialled = (socket as OverSocket)._handle?._parent;
  try {
    if (below !== undefined && !below.writableEnded) below.resetAndDestroy();
    else if (below === undefined && dialled) closeByReset(dialled);
  } catch {
    // The connection has no handle any more, or never had one of TCP.
  }
}

function closeByReset(handle: TcpHandle): void {
  handle.close = (done) => handle.reset(done);
}
