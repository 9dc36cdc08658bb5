import { inspect } from 'node:util';
import { createLineLogger } from '../../../src/node/logging/line-logger.ts';
import type { Logger } from '../../../src/runtime/logger.ts';

/**
 * A logger at its most talkative that keeps everything in `lines`: what the logger of `serve` writes, and what it
 * was given before it masked anything.
 */
export function keptLog(lines: string[]): Logger {
  const masking = createLineLogger({ format: 'json', verbosity: 10 }, (line) => lines.push(line));
  const write =
    (level: keyof Logger): Logger['info'] =>
    (fields, message) => {
      lines.push(inspect({ level, message, fields }, { depth: 10, breakLength: Number.POSITIVE_INFINITY }));
      masking[level](fields, message);
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}
