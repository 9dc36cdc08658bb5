import { type DestinationStream, destination, pino } from 'pino';
import type { Logger } from '../../runtime/logger.ts';
import type { LoggingConfig } from '../configuration/serve-config.ts';
import { maskFields, maskText } from '../exchange/mask-secrets.ts';
import { textLine } from './text-log.ts';

/** From this `-v` on, debug lines are written (kube-apiserver's level of detail for debugging). */
const debugVerbosity = 4;

/** A logger whose verbosity and form can change while it is used. */
export interface ConfigurableLogger extends Logger {
  /** For lines from now on. */
  configure(config: LoggingConfig): void;
}

/**
 * A logger on standard error: one JSON object a line, or the same as text. Credentials are masked in both, wherever
 * they stand. Names are those of Kubernetes' JSON logs (k8s.io/component-base logs/json): `ts` in milliseconds since
 * the epoch, `v` (the verbosity from which on the line is written; not on errors), `msg`, `err`; `level` is this
 * logger's own, since those know no warnings.
 *
 * @param stream where lines go; default standard error
 */
export function createPinoLogger(config: LoggingConfig, stream?: DestinationStream): ConfigurableLogger {
  // Synchronous: a line that explains why the process ends has to be out before it does.
  const output = stream ?? destination({ dest: 2, sync: true });
  let logger = newLogger(config, output);
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (fields: Readonly<Record<string, unknown>>, message: string): void => {
      // Masking walks the fields: not for lines that nobody will read.
      if (logger.isLevelEnabled(level)) logger[level](lineFields(level, fields), maskText(message));
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    configure(changed) {
      logger = newLogger(changed, output);
    },
  };
}

function newLogger(config: LoggingConfig, output: DestinationStream) {
  return pino(
    {
      level: config.verbosity >= debugVerbosity ? 'debug' : 'info',
      base: null,
      messageKey: 'msg',
      timestamp: () => `,"ts":${Date.now()}`,
      formatters: { level: (label) => ({ level: label }) },
    },
    config.format === 'json' ? output : textStream(output),
  );
}

function lineFields(level: string, fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { error, err = error, ...others } = fields;
  const line = maskFields(err === undefined ? others : { err, ...others });
  return level === 'error' ? line : { v: level === 'debug' ? debugVerbosity : 0, ...line };
}

function textStream(output: DestinationStream): DestinationStream {
  return { write: (line) => output.write(textLine(line)) };
}
