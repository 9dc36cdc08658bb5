import { statusResponse } from '../apimachinery/status.ts';
import type { Logger } from '../runtime/logger.ts';
import { auditIdOf } from './audit-id.ts';
import type { InboundRequest } from './inbound.ts';

/**
 * An internal error of the router: logged for its operator, not shown to the client.
 * @param inbound left out where it came before the request was read.
 */
export function internalError(error: unknown, logger: Logger, inbound?: InboundRequest): Response {
  inbound?.observed?.panicked(error);
  const auditId = inbound === undefined ? undefined : auditIdOf(inbound);
  logger.error({ err: error, 'audit-ID': auditId }, 'A request ended in an internal error');
  return statusResponse('InternalError', 'Internal error occurred: the router could not handle the request');
}
