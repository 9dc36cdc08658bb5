import type { Logger } from '../observe/logger.ts';

/** Writes each entry as one line of JSON. @param write takes a whole line */
export function createJsonLineLogger(write: (line: string) => void): Logger {
  const entry =
    (level: string) =>
    (fields: Readonly<Record<string, unknown>>, message: string): void => {
      const line = { time: new Date().toISOString(), level, msg: message, ...fields };
      write(`${JSON.stringify(line, (_key, value: unknown) => describeError(value))}\n`);
    };
  return { debug() {}, info: entry('info'), warn: entry('warn'), error: entry('error') };
}

/** `JSON.stringify` shows nothing of an error. */
function describeError(value: unknown): unknown {
  return value instanceof Error ? { name: value.name, message: value.message } : value;
}
