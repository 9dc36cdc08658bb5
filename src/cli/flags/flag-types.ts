import { isIP } from 'node:net';
import * as v from 'valibot';
import { isPreferredVersion } from '../../routing/preferred-version.ts';
import { expected } from '../../runtime/validation.ts';

/** What may follow a flag, and under its key in a configuration file. */
export interface FlagType<Value = unknown> {
  /** How often it counts: of a value the last one; of a list each one, and each entry between commas. */
  readonly kind: 'value' | 'list' | 'boolean';
  /** Of a list: an occurrence is one entry, commas and all. Default false. */
  readonly isWhole?: true;
  /** Shown in the help instead of the value. */
  readonly placeholder: string;
  /** Its values are paths: in a configuration file, relative to its folder. Default false. */
  readonly isPath?: true;
  /** The JSON types that the key accepts. `given` checks their values. */
  readonly configured: v.GenericSchema;
  /** Parses one given value. The message is a predicate that follows the flag's name. */
  readonly given: v.GenericSchema<string, Value>;
}

const filledText = v.pipe(v.string(expected('text')), v.minLength(1, 'must not be empty'));
const anyText = v.string();

export const text = (placeholder: string) =>
  ({ kind: 'value', placeholder, configured: filledText, given: anyText }) as const satisfies FlagType;

export const file = { ...text('file'), isPath: true } as const satisfies FlagType;

export const directory = { ...text('directory'), isPath: true } as const satisfies FlagType;

/** Entries of text, with commas between them or each with a flag of its own. */
export const list = (placeholder: string) =>
  ({
    kind: 'list',
    placeholder,
    configured: v.array(filledText, expected('a list')),
    given: anyText,
  }) as const satisfies FlagType;

const pairMeaning =
  'a certificate and its key, cert.crt,cert.key, with names after a colon or none: cert.crt,cert.key:example.com,*.example.com';

/** Each flag of its own (k8s.io/component-base cli/flag NamedCertKey). */
export const namedCertificatePairs = {
  kind: 'list',
  isWhole: true,
  isPath: true,
  placeholder: 'cert,key[:name,...]',
  configured: v.array(
    v.strictObject(
      {
        certFile: filledText,
        keyFile: filledText,
        names: v.optional(v.pipe(v.array(filledText), v.minLength(1, 'must not be empty'))),
      },
      expected('an object with certFile, keyFile and, where given, names'),
    ),
    expected('a list'),
  ),
  given: reading((given) => {
    const [, files = '', names] = /^([^:]*)(?::(.*))?$/s.exec(given) ?? [];
    const [certFile = '', keyFile = '', ...rest] = files.split(',').map((path) => path.trim());
    const entries = names?.split(',').map((name) => name.trim()) ?? [];
    if (certFile === '' || keyFile === '' || rest.length > 0 || entries.includes('')) return undefined;
    return { certFile, keyFile, names: entries };
  }, pairMeaning),
} as const satisfies FlagType;

export const featureGates = {
  ...list('Gate=true|false'),
  configured: v.record(v.string(), v.boolean(expected('true or false')), expected('an object')),
} as const satisfies FlagType;

export const boolean = {
  kind: 'boolean',
  placeholder: 'true|false',
  configured: v.boolean(expected('true or false')),
  given: reading(parseBoolean, 'true or false'),
} as const satisfies FlagType;

export const choice = <const Choices extends readonly string[]>(...choices: Choices) =>
  ({
    kind: 'value',
    placeholder: choices.join('|'),
    configured: v.picklist(choices, expected(`one of ${choices.join(', ')}`)),
    given: v.pipe(v.string(), v.picklist(choices, `must be one of ${choices.join(', ')}`)),
  }) as const satisfies FlagType;

/** @param meaning what is expected, where that is not the range */
export const wholeNumber = (
  least: number,
  most: number,
  placeholder = 'number',
  meaning = `a whole number from ${least} to ${most}`,
) =>
  ({
    kind: 'value',
    placeholder,
    configured: v.pipe(
      v.number(expected('a whole number')),
      v.integer(expected('a whole number')),
      v.minValue(0, expected('a whole number from 0 on')),
      range(least, most),
    ),
    given: reading(
      (given) => within(/^\d{1,15}$/.test(given) ? Number(given) : undefined, least, most),
      meaning,
    ),
  }) as const satisfies FlagType;

export const number = (least: number, most: number) =>
  ({
    kind: 'value',
    placeholder: `${least}..${most}`,
    configured: v.pipe(v.number(expected('a number')), range(least, most)),
    given: reading(
      (given) => within(/^\d+(\.\d+)?$/.test(given) ? Number(given) : undefined, least, most),
      `a number from ${least} to ${most}`,
    ),
  }) as const satisfies FlagType;

/** For editors. The value itself is checked by `given`, and only where no flag wins over it. */
const range = (minimum: number, maximum: number) =>
  v.metadata<number, { readonly minimum: number; readonly maximum: number }>({ minimum, maximum });

const durationText = 'a duration such as 10s or 1m30s';

/**
 * Comes to milliseconds.
 * @param longest left out: nothing is too long
 * @param meaning what is expected, where that is not the range
 * @param step milliseconds of which it must be a multiple; 0: any
 */
export const duration = (
  shortest: string,
  longest?: string,
  meaning = `a duration from ${shortest} to ${longest}, such as 10s`,
  step = 0,
) =>
  ({
    kind: 'value',
    placeholder: 'duration',
    configured: v.pipe(
      v.string(expected(durationText)),
      v.regex(/^(\d{1,9}(\.\d{1,9})?(ms|s|m|h))+$/, expected(durationText)),
    ),
    given: reading((given) => {
      const value = within(parseDuration(given), parseDuration(shortest), parseDuration(longest ?? ''));
      return value === undefined || (step > 0 && value % step > 0) ? undefined : value;
    }, meaning),
  }) as const satisfies FlagType;

export const ipAddress = (placeholder: string) =>
  ({
    ...text(placeholder),
    given: v.pipe(
      v.string(),
      v.check((given) => isIP(given) !== 0, 'must be an IP address'),
    ),
  }) as const satisfies FlagType;

export const preferredVersion = {
  ...text('majority|newest|oldest|local|1.36'),
  given: reading(
    (given) => (isPreferredVersion(given) ? given : undefined),
    'majority, newest, oldest, local, or a minor version such as 1.36',
  ),
} as const satisfies FlagType;

/** Text that is read as something else; `undefined`, and so refused, where it cannot be. */
function reading<Value>(
  read: (given: string) => Value | undefined,
  meaning: string,
): v.GenericSchema<string, Value> {
  return v.pipe(
    v.string(),
    v.rawTransform(({ dataset, addIssue, NEVER }) => {
      const value = read(dataset.value);
      if (value !== undefined) return value;
      addIssue({ message: `must be ${meaning}` });
      return NEVER;
    }),
  );
}

function within(value: number | undefined, least = 0, most = Number.POSITIVE_INFINITY): number | undefined {
  return value !== undefined && value >= least && value <= most ? value : undefined;
}

/** Go's strconv.ParseBool, which Kubernetes' boolean flags and feature gates are read with. */
export function parseBoolean(text: string): boolean | undefined {
  if (/^(1|t|T|TRUE|true|True)$/.test(text)) return true;
  if (/^(0|f|F|FALSE|false|False)$/.test(text)) return false;
  return undefined;
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/** Reads a duration as Go writes it (`1s`, `500ms`, `1h30m`), in milliseconds; `undefined` for anything else. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d{1,9}(\.\d{1,9})?(ms|s|m|h))+$/.test(text)) return undefined;
  let milliseconds = 0;
  for (const [, number, unit = ''] of text.matchAll(/([\d.]+)(ms|s|m|h)/g)) {
    milliseconds += Number(number) * (units[unit] ?? 0);
  }
  return milliseconds;
}
