import { isIP } from 'node:net';
import * as v from 'valibot';
import { token } from '../../request/headers.ts';
import { isPreferredVersion } from '../../routing/preferred-version.ts';
import { expected, quoted } from '../../runtime/validation.ts';
import { parseCidr, parseHostPort, parseHttpsOrigin } from '../../snapshot/addresses/addresses.ts';
import { shortText } from '../../snapshot/format/schema.ts';
import type { About, SectionSchema, SettingSchema, SettingType } from './setting.ts';

/** A setting: the name of its flag, what its value may be, and what there is to say about it. */
export function setting<
  const Flag extends string,
  Schema extends v.GenericSchema,
  const Default extends v.InferInput<Schema> & {},
>(
  flag: Flag,
  takes: SettingType<Schema>,
  about: About & { readonly default: Default },
): SettingSchema<Flag, Schema, Default>;
export function setting<const Flag extends string, Schema extends v.GenericSchema>(
  flag: Flag,
  takes: SettingType<Schema>,
  about: About & { readonly default?: undefined },
): SettingSchema<Flag, Schema, undefined>;
export function setting(flag: string, takes: SettingType, about: About): SettingSchema {
  return Object.assign(v.optional(takes.schema, about.default), { flag, takes, about });
}

/** Settings under their keys. @param heading of their flags in help */
export function section<const Entries extends v.ObjectEntries>(
  heading: string,
  entries: Entries,
): SectionSchema<Entries> {
  return Object.assign(v.strictObject(entries), { heading });
}

const durationForm = /^(\d{1,9}(\.\d{1,9})?(ms|s|m|h))+$/;
const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

const filledText = v.pipe(v.string(expected('text')), v.minLength(1, 'must not be empty'));

const last = (occurrences: readonly string[]) => occurrences.at(-1);

export const text = (placeholder: string) => textLike(placeholder, filledText);
/** A name that a snapshot can hold. */
export const shortName = textLike('name', shortText);

function textLike<Schema extends v.GenericSchema>(placeholder: string, schema: Schema) {
  return { placeholder, schema, given: last } satisfies SettingType<Schema>;
}

/** Text that comes to something else; refused where `read` gives an error: a predicate. */
function reading<Value>(placeholder: string, read: (text: string) => { readonly value: Value } | string) {
  return textLike(
    placeholder,
    v.pipe(
      filledText,
      v.rawTransform(({ dataset, addIssue, NEVER }): Value => {
        const result = read(dataset.value);
        if (typeof result !== 'string') return result.value;
        addIssue({ message: `${result}, not ${quoted(dataset.value)}` });
        return NEVER;
      }),
    ),
  );
}

export const file = { ...text('file'), isPath: true } as const;

export const directory = { ...text('directory'), isPath: true } as const;

/** Entries of text, with commas between them or each with a flag of its own. */
export const list = (placeholder: string) => listOf(text(placeholder));

export function listOf<Schema extends v.GenericSchema>({ placeholder, schema }: SettingType<Schema>) {
  return {
    placeholder,
    isList: true,
    schema: v.pipe(v.array(schema, expected('a list')), v.minLength(1, 'must not be empty')),
    given: (occurrences: readonly string[]): unknown => occurrences.flatMap(splitList),
  } as const;
}

export const listOfWhole = (placeholder: string) => ({
  ...list(placeholder),
  given: (occurrences: readonly string[]): unknown => occurrences,
});

/** As `list`; no entries at all have a meaning of their own. */
export const listOrNone = (placeholder: string) => ({
  ...list(placeholder),
  schema: v.array(filledText, expected('a list')),
});

/** Each flag of its own (k8s.io/component-base cli/flag NamedCertKey). */
export const namedCertificatePairs = {
  placeholder: 'cert,key[:name,...]',
  isList: true,
  isPath: true,
  schema: v.array(
    v.strictObject(
      {
        certFile: filledText,
        keyFile: filledText,
        names: v.optional(v.pipe(v.array(filledText), v.minLength(1, 'must not be empty'))),
      },
      expected(
        'a certificate and its key, as a flag cert.crt,cert.key or cert.crt,cert.key:example.com,*.example.com, in a file certFile, keyFile and, where given, names',
      ),
    ),
    expected('a list'),
  ),
  given: (occurrences: readonly string[]): unknown =>
    occurrences.map((given) => {
      const [, files = '', names] = /^([^:]*)(?::(.*))?$/s.exec(given) ?? [];
      const [certFile = '', keyFile = '', ...rest] = files.split(',').map((path) => path.trim());
      const entries = names?.split(',').map((name) => name.trim());
      if (certFile === '' || keyFile === '' || rest.length > 0 || entries?.includes('')) return given;
      return entries === undefined ? { certFile, keyFile } : { certFile, keyFile, names: entries };
    }),
} as const;

export const featureGates = {
  placeholder: 'Gate=true|false',
  isList: true,
  schema: v.record(v.string(), v.boolean(expected('true or false')), expected('an object')),
  given: (occurrences: readonly string[]): unknown =>
    Object.fromEntries(
      occurrences.flatMap(splitList).map((entry) => {
        const [gate = '', setting = ''] = entry.split('=', 2).map((part) => part.trim());
        return [gate, parseBoolean(setting) ?? setting];
      }),
    ),
} as const;

export const boolean = {
  placeholder: '',
  schema: v.boolean(expected('true or false')),
  given: (occurrences: readonly string[]): unknown =>
    parseBoolean(last(occurrences) ?? '') ?? last(occurrences),
};

export const choice = <const Choices extends readonly string[]>(...choices: Choices) => ({
  ...textLike(choices.join('|'), v.picklist(choices, expected(`one of ${choices.join(', ')}`))),
  choices,
});

/** @param meaning what is expected, where that is not the range */
export function wholeNumber(
  least: number,
  most: number,
  placeholder = 'number',
  meaning = `a whole number from ${least} to ${most}`,
) {
  const message = expected(meaning);
  const schema = v.pipe(
    v.number(message),
    v.integer(message),
    v.minValue(least, message),
    v.maxValue(most, message),
  );
  return { placeholder, schema, given: numberGiven(/^\d{1,15}$/) };
}

export function number(least: number, most: number) {
  const message = expected(`a number from ${least} to ${most}`);
  const schema = v.pipe(v.number(message), v.minValue(least, message), v.maxValue(most, message));
  return { placeholder: `${least}..${most}`, schema, given: numberGiven(/^\d+(\.\d+)?$/) };
}

function numberGiven(form: RegExp) {
  return (occurrences: readonly string[]): unknown => {
    const given = last(occurrences) ?? '';
    return form.test(given) ? Number(given) : given;
  };
}

/**
 * Comes to milliseconds.
 * @param longest left out: nothing is too long
 * @param meaning what is expected, where that is not the range
 */
export function duration(
  shortest: string,
  longest?: string,
  meaning = `a duration from ${shortest} to ${longest}, such as 10s`,
  isAllowed: (milliseconds: number) => boolean = () => true,
) {
  const message = expected(meaning);
  const [least = 0, most = Number.POSITIVE_INFINITY] = [shortest, longest ?? ''].map(parseDuration);
  const schema = v.pipe(
    v.string(message),
    v.regex(durationForm, message),
    v.rawTransform(({ dataset, addIssue, NEVER }): number => {
      const milliseconds = parseDuration(dataset.value);
      const isWithin = milliseconds !== undefined && milliseconds >= least && milliseconds <= most;
      if (isWithin && isAllowed(milliseconds)) return milliseconds;
      addIssue({ message: message({ input: dataset.value }) });
      return NEVER;
    }),
  );
  return textLike('duration', schema);
}

export const ipAddress = (placeholder: string) =>
  textLike(
    placeholder,
    v.pipe(
      filledText,
      v.check((given) => isIP(given) !== 0, expected('an IP address')),
    ),
  );

/** An IP address and a port, which may be 0: any free one. */
export const addressAndPort = reading('IP:port', (given) => {
  // Port 0 is no address that could be dialled, and so none to the parser.
  const anyPort = /^(.+:)0$/.exec(given);
  const parsed = parseHostPort(anyPort === null ? given : `${anyPort[1]}1`);
  if (!parsed.ok || parsed.value.ip === undefined) {
    return 'must be an IP address and a port, such as 127.0.0.1:9443 or [::1]:9443';
  }
  const { host, port } = parsed.value;
  return { value: { host, port: anyPort === null ? port : 0 } };
});

/** An origin and nothing else: a path or a query would silently be dropped from every request. */
export const httpsOrigin = (placeholder = 'https://host:port') =>
  reading(placeholder, (given) => {
    const parsed = parseHttpsOrigin(given.replace(/\/$/, ''));
    return parsed.ok ? { value: new URL(given).origin } : parsed.message;
  });

const listedServer = reading('id=https://host:port', (given) => {
  const [, id, url = ''] = /^([^=]+)=(.*)$/s.exec(given) ?? [];
  if (id === undefined) return 'must be id=https://host:port';
  const origin = parseHttpsOrigin(url);
  return origin.ok ? { value: { id, url } } : `of ${id} ${origin.message}`;
});

const listedServersOfAnyId = listOf(listedServer);
export const listedServers = {
  ...listedServersOfAnyId,
  schema: v.pipe(
    listedServersOfAnyId.schema,
    v.rawCheck(({ dataset, addIssue }) => {
      if (!dataset.typed) return;
      const ids = dataset.value.map(({ id }) => id);
      const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
      if (repeated !== undefined) addIssue({ message: `names ${repeated} twice` });
    }),
  ),
};

export const cidrs = listOf(
  reading('CIDR', (given) =>
    parseCidr(given) === undefined ? 'must be a CIDR block such as 10.0.0.0/8' : { value: given },
  ),
);

export const headerNames = (placeholder: string) =>
  listOf(reading(placeholder, (given) => (token.test(given) ? { value: given } : 'must be a header name')));

export const preferredVersion = reading('majority|newest|oldest|local|1.36', (given) =>
  isPreferredVersion(given)
    ? { value: given }
    : 'must be majority, newest, oldest, local, or a minor version such as 1.36',
);

/** Go's strconv.ParseBool, which Kubernetes' boolean flags and feature gates are read with. */
function parseBoolean(given: string): boolean | undefined {
  if (/^(1|t|T|TRUE|true|True)$/.test(given)) return true;
  if (/^(0|f|F|FALSE|false|False)$/.test(given)) return false;
  return undefined;
}

/** Reads a duration as Go writes it (`1s`, `500ms`, `1h30m`), in milliseconds; `undefined` for anything else. */
export function parseDuration(given: string): number | undefined {
  if (!durationForm.test(given)) return undefined;
  let milliseconds = 0;
  for (const [, amount, unit = ''] of given.matchAll(/([\d.]+)(ms|s|m|h)/g)) {
    milliseconds += Number(amount) * (units[unit] ?? 0);
  }
  return milliseconds;
}

/**
 * Splits one occurrence of a list flag at its commas; an entry in double quotes may hold commas itself, and a
 * doubled quote is a quote (the CSV form that pflag's StringSlice reads). A blank occurrence has no entries.
 */
function splitList(occurrence: string): string[] {
  if (occurrence === '') return [];
  const entries: string[] = [];
  // A quote with something after it is no CSV: the second alternative takes it as it stands.
  const entry = /(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/y;
  let match = entry.exec(occurrence);
  while (match !== null) {
    entries.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '');
    match = match[3] === ',' ? entry.exec(occurrence) : null;
  }
  return entries;
}
