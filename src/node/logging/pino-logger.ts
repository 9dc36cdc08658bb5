import { type DestinationStream, destination, pino } from 'pino';
import type { Logger } from '../../runtime/logger.ts';
import { maskFields, maskText } from '../../runtime/mask-secrets.ts';
import type { RouterSettings } from '../configuration/router-settings.ts';

/** From this `-v` on, debug lines are written (kube-apiserver's level of detail for debugging). */
const debugVerbosity = 4;

/**
 * A logger on standard error: one JSON object per line, or the same as text. Credentials are masked. Fields are those of
 * Kubernetes' JSON logs (k8s.io/component-base logs/json): `ts` in milliseconds since the epoch, `v` (the least verbosity
 * with which the line is written; not for errors), `msg`, `err`. `level` is our own, because those have no warnings.
 *
 * @param stream default: standard error
 */
export function createPinoLogger(config: RouterSettings['logging'], stream?: DestinationStream): Logger {
  // Synchronous: a line that explains why the process ends must be written before it does.
  const output = stream ?? destination({ dest: 2, sync: true });
  const logger = newLogger(config, output);
  const write =
    (level: 'debug' | 'info' | 'warn' | 'error') =>
    (fields: Readonly<Record<string, unknown>>, message: string): void => {
      // Masking costs time: not for lines that are not written.
      if (logger.isLevelEnabled(level)) logger[level](lineFields(level, fields), maskText(message));
    };
  return {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  };
}

function newLogger(config: RouterSettings['logging'], output: DestinationStream) {
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

const letters: Readonly<Record<string, string>> = { debug: 'D', info: 'I', warn: 'W', error: 'E' };

/** Times are in milliseconds since the epoch, as `ts` is, under a name such as `expiresAt`: nobody reads them so. */
function fieldText(name: string, value: unknown): string {
  const time = typeof value === 'number' && name.endsWith('At') ? new Date(value) : undefined;
  // JSON has null for what is no time.
  return time === undefined ? JSON.stringify(value) : (time.toJSON() ?? JSON.stringify(value));
}

function textLine(json: string): string {
  const { level, ts, msg, v: _, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const time = new Date(Number(ts)).toISOString();
  const pairs = Object.entries(fields).map(([name, value]) => ` ${name}=${fieldText(name, value)}`);
  return `${letters[String(level)] ?? '?'} ${time} ${JSON.stringify(msg)}${pairs.join('')}\n`;
}
