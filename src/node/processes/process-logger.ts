import type { Logger } from '../../observe/logger.ts';

/** The same logger with the process that writes on each line: its number, or `supervisor`, and its ID. */
export function processLogger(logger: Logger, process: number | 'supervisor', pid: number): Logger {
  const own = { process, pid };
  return {
    debug: (fields, message) => logger.debug({ ...own, ...fields }, message),
    info: (fields, message) => logger.info({ ...own, ...fields }, message),
    warn: (fields, message) => logger.warn({ ...own, ...fields }, message),
    error: (fields, message) => logger.error({ ...own, ...fields }, message),
  };
}
