import type { Server } from 'node:net';
import type { Logger } from '../../runtime/logger.ts';

/** Milliseconds between two warnings. */
const warningInterval = 10_000;

export interface ConnectionLimit {
  /** For new connections; open ones stay. 0 is no limit. */
  set(maximum: number): void;
}

/**
 * Closes each connection beyond `maximum` at once: a load balancer then tries another router, and connected clients keep
 * the file descriptors that their requests need. 0 is no limit.
 */
export function limitConnections(server: Server, maximum: number, logger: Logger): ConnectionLimit {
  let lastWarning = Number.NEGATIVE_INFINITY;
  let turnedAway = 0;
  server.on('drop', () => {
    turnedAway += 1;
    const now = performance.now();
    if (now - lastWarning < warningInterval) return;
    lastWarning = now;
    logger.warn(
      { maximum: server.maxConnections, turnedAway },
      'Connections are refused: raise --max-connections and the limit of open files, or add routers',
    );
  });
  const limit: ConnectionLimit = {
    set(next) {
      server.maxConnections = next > 0 ? next : Number.POSITIVE_INFINITY;
    },
  };
  limit.set(maximum);
  return limit;
}
