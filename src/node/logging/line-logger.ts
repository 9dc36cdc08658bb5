import type { Logger, LogVerbosity } from '../../runtime/logger.ts';
import { maskFields, maskText } from '../../runtime/mask-secrets.ts';
import type { RouterSettings } from '../configuration/router-settings.ts';

/** From this `-v` on, debug lines are written (kube-apiserver's level of detail for debugging). */
const debugVerbosity = 4;

type Level = keyof Logger;
type Fields = Readonly<Record<string, unknown>>;

interface Line {
  readonly level: Level;
  /** Milliseconds since the epoch. */
  readonly ts: number;
  readonly fields: Fields;
  readonly message: string;
}

/**
 * A logger that writes one JSON object per line, or the same as text. Credentials are masked. Fields are those of Kubernetes'
 * JSON logs (k8s.io/component-base logs/json): `ts` in milliseconds since the epoch, `v` (the least verbosity with which the
 * line is written; not for errors), `msg`, `err`. `level` is our own, because those have no warnings.
 *
 * @param write takes one line, with its line feed; must not throw
 * @param current asked for each debug line. Default: the verbosity stays as configured
 */
export function createLineLogger(
  { format, verbosity }: RouterSettings['logging'],
  write: (line: string) => void,
  current: Readonly<LogVerbosity> = { level: verbosity },
): Logger {
  const formatted = format === 'json' ? jsonLine : textLine;
  const writing =
    (level: Level) =>
    (given: Fields, message: string): void =>
      write(formatted({ level, ts: Date.now(), fields: maskedFields(given), message: maskText(message) }));
  const writeDebug = writing('debug');
  return {
    // Masking costs time: not for lines that are not written.
    debug(fields, message) {
      if (current.level >= debugVerbosity) writeDebug(fields, message);
    },
    info: writing('info'),
    warn: writing('warn'),
    error: writing('error'),
  };
}

function maskedFields({ error, err = error, ...others }: Fields): Fields {
  return maskFields(err === undefined ? others : { err, ...others });
}

function jsonLine({ level, ts, fields, message }: Line): string {
  const v = level === 'error' ? undefined : level === 'debug' ? debugVerbosity : 0;
  return `${JSON.stringify({ level, ts, v, ...fields, msg: message })}\n`;
}

const letters: Readonly<Record<Level, string>> = { debug: 'D', info: 'I', warn: 'W', error: 'E' };

function textLine({ level, ts, fields: { v: _, ...fields }, message }: Line): string {
  const pairs = Object.entries(fields).map(([name, value]) => fieldText(name, value));
  return `${letters[level]} ${new Date(ts).toISOString()} ${JSON.stringify(message)}${pairs.join('')}\n`;
}

/**
 * As JSON, which has no functions and nothing undefined. Times are in milliseconds since the epoch, as `ts` is, under a name such
 * as `expiresAt`: nobody reads them so.
 */
function fieldText(name: string, value: unknown): string {
  const time = typeof value === 'number' && name.endsWith('At') ? new Date(value).toJSON() : undefined;
  const text: string | undefined = time ?? JSON.stringify(value);
  return text === undefined ? '' : ` ${name}=${text}`;
}
