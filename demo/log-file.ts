import { destination } from 'pino';
import { createPinoLogger } from '../src/node/logging/pino-logger.ts';
import type { Logger } from '../src/runtime/logger.ts';

/** Logs to a file, each line at once. */
export function logTo(file: string): Logger {
  return createPinoLogger({ format: 'text', verbosity: 2 }, destination({ dest: file, sync: true }));
}
