import { appendFileSync } from 'node:fs';
import { createLineLogger } from '../src/node/logging/line-logger.ts';
import type { Logger } from '../src/runtime/logger.ts';

/** Logs to a file, each line at once. */
export function logTo(file: string): Logger {
  return createLineLogger({ format: 'text', verbosity: 2 }, (line) => {
    try {
      appendFileSync(file, line);
    } catch {
      // A full disk costs the log, not the demo.
    }
  });
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
