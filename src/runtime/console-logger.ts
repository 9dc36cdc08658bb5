import type { Logger } from './logger.ts';

export const logLevels = ['debug', 'info', 'warn', 'error', 'none'] as const;
export type LogLevel = (typeof logLevels)[number];

type LogSink = Readonly<Record<Exclude<LogLevel, 'none'>, (line: string) => void>>;

/**
 * Writes one JSON object a line, as the Node router does with `--logging-format=json`.
 *
 * @param sink The one place where the product writes to the console, by default: a Worker has no other output.
 *   `wrangler tail`, Workers Logs and workerd's own output show it.
 */
export function createConsoleLogger(level: LogLevel, sink: LogSink = globalThis.console): Logger {
  const lowest = logLevels.indexOf(level);
  const write =
    (at: Exclude<LogLevel, 'none'>): Logger['info'] =>
    (fields, message) => {
      if (logLevels.indexOf(at) < lowest) return;
      sink[at](JSON.stringify({ level: at, msg: message, ...fields }, errorsAsText));
    };
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
}

/** Errors have no members of their own that JSON would show. */
function errorsAsText(_key: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  return {
    type: value.name,
    message: value.message,
    ...(value.cause === undefined ? {} : { cause: String(value.cause) }),
  };
}

/** The logger of a library whose program gives it none: what goes wrong is told on the console. */
export const defaultLogger: Logger = createConsoleLogger('warn');
