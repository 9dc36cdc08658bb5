import { firstHeader } from '../apimachinery/raw-headers.ts';
import type { Logger, LogVerbosity } from '../runtime/logger.ts';
import { auditIdOf } from './headers.ts';
import type { RequestObserver, RequestRecord } from './inbound.ts';

/** From this `-v` on there is a line for each request, as in kube-apiserver (k8s.io/apiserver pkg/server/httplog). */
export const accessLogVerbosity = 3;

/**
 * One line for each request, once it is over, under the names of kube-apiserver's: verb, URI, latency (seconds),
 * userAgent, audit-ID, srcIP, resp; then what only a router knows.
 * @param logger must mask credentials: targets are written as they came
 * @param current asked for each request. Default: there is a line for each
 */
export function accessLog(
  logger: Logger,
  current: Readonly<LogVerbosity> = { level: accessLogVerbosity },
): RequestObserver {
  return {
    accepted({ inbound }) {
      if (current.level < accessLogVerbosity) return;
      // Now, so that the destination is told the same one.
      auditIdOf(inbound);
      // Now: a connection that is gone has no address.
      inbound.connection.remoteAddress;
    },
    finished(record) {
      if (current.level >= accessLogVerbosity) logger.info(accessLine(record), 'HTTP');
    },
  };
}

function accessLine(record: RequestRecord): Record<string, unknown> {
  const { inbound, requestInfo, caller, decision, dropped, attempts, again } = record;
  const last = attempts.at(-1);
  const failed = attempts.findLast(({ failure }) => failure !== undefined);
  return {
    v: accessLogVerbosity,
    verb: requestInfo?.verb ?? inbound.method,
    URI: inbound.target,
    latency: ((record.finishedAt ?? record.begunAt) - record.begunAt) / 1000,
    userAgent: firstHeader(inbound.headers, 'user-agent'),
    'audit-ID': auditIdOf(inbound),
    srcIP: inbound.connection.remoteAddress,
    // 0, as there: the client went away before there was a response.
    resp: record.status,
    ...(caller?.kind === 'authenticated' && { user: caller.user.name }),
    ...(decision !== undefined && { decision: decision.decision, reason: decision.reason }),
    ...(dropped !== undefined && { dropped }),
    ...(last !== undefined && { destination: last.destination.id }),
    ...(attempts.length > 1 && { attempts: attempts.length }),
    ...(failed !== undefined && { failure: failed.failure }),
    ...(again !== undefined && { again }),
  };
}
