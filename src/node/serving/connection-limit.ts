import type { Server } from 'node:net';
import type { Logger } from '../../runtime/logger.ts';

/** Milliseconds between two log lines about connections that were turned away. */
const complaintInterval = 10_000;

/** A limit that can be set anew. */
export interface ConnectionLimit {
  /** For connections from now on; those that are open stay. 0 is no limit. */
  set(maximum: number): void;
}

/**
 * Has a server close each connection beyond `maximum` as it comes: a load balancer then tries another router, and
 * those who are connected keep the file descriptors that their answers need. 0 is no limit.
 */
export function limitConnections(server: Server, maximum: number, logger: Logger): ConnectionLimit {
  let lastComplaint = Number.NEGATIVE_INFINITY;
  let turnedAway = 0;
  server.on('drop', () => {
    turnedAway += 1;
    const now = performance.now();
    if (now - lastComplaint < complaintInterval) return;
    lastComplaint = now;
    logger.warn(
      { maximum: server.maxConnections, turnedAway },
      'Connections are turned away: raise --max-connections and the limit of open files, or add routers',
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
