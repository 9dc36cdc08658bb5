import { statusResponse } from '../apimachinery/status.ts';
import type { Logger } from '../observe/logger.ts';

/** A fault of the router itself: told to its operator, not to the client. */
export function internalError(error: unknown, logger: Logger): Response {
  logger.error({ err: error }, 'A request ended in an internal error');
  return statusResponse('InternalError', 'Internal error occurred: the router could not handle the request');
}
