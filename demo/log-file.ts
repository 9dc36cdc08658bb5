import { destination } from 'pino';
import { createPinoLogger } from '../src/node/logging/pino-logger.ts';
import type { Logger } from '../src/runtime/logger.ts';

/** Logs to a file, each line at once. */
export function logTo(file: string): Logger {
  return createPinoLogger({ format: 'text', verbosity: 2 }, destination({ dest: file, sync: true }));
}

/** The log of one router of several that write to the same file. */
export function logOfRouter(logger: Logger, router: string): Logger {
  return {
    debug: (fields, message) => logger.debug({ router, ...fields }, message),
    info: (fields, message) => logger.info({ router, ...fields }, message),
    warn: (fields, message) => logger.warn({ router, ...fields }, message),
    error: (fields, message) => logger.error({ router, ...fields }, message),
  };
}
