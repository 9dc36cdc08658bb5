/** The part of a structured logger that the core uses; pino's has this shape. */
export interface Logger {
  debug(fields: Readonly<Record<string, unknown>>, message: string): void;
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** Logs nothing: the default of a library. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} };
