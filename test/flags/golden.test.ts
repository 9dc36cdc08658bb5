import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { readServeInput } from '../../src/cli/serve/serve-input.ts';
import { generateSigningKey } from '../../src/snapshot/signing/seal.ts';
import { commandContext, runCommand } from '../support/commands/command-context.ts';
import { completeServeOptions, serveFiles } from '../support/routers/serve-options.ts';
import { type Changes, serveCombinations, syncCombinations } from './combinations.ts';

/*
 * Texts about the flags of `serve` and `sync` that an operator sees, held as they were: help, every message of a bad
 * value, and which of file and flag counts. A change of these texts has to be one on purpose: `npm run generate`, and
 * the difference read.
 */

type Flags = Readonly<Record<string, readonly string[]>>;

let files: Map<string, string>;
before(async () => {
  const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
  files = new Map([
    ...(await serveFiles()),
    ['signing.json', JSON.stringify(privateJwk)],
    ['routers.json', JSON.stringify({ keys: [{ ...publicJwk, issuer: 'cp-b' }] })],
    ['token', 'abc'],
    ['private.json', JSON.stringify({ keys: [{ ...privateJwk, issuer: 'cp-b' }] })],
    ['noise', '{"password": "hunter2"}\nmore'],
    ['blank', '\n'],
    ['keys2.json', JSON.stringify({ keys: [publicJwk] })],
  ]);
});

function hold(context: TestContext, name: string, text: string): void {
  // Keys differ from run to run.
  const stable = text
    .replaceAll(process.cwd(), '.')
    .replaceAll(/"(kid|x|d)":"[\w-]+"/g, '"$1":"…"')
    .replaceAll(/\b[\w-]{43}\b/g, '…');
  context.assert.fileSnapshot(stable, resolve(import.meta.dirname, `../fixtures/flags/${name}.txt`), {
    serializers: [String],
  });
}

interface Flag {
  readonly name: string;
  readonly placeholder: string;
}

/** From the help, so that a flag that is left out of it is missed here. */
async function flagsOf(command: string): Promise<readonly Flag[]> {
  const { output } = await runCommand(files, [command, '--help']);
  return [...output.matchAll(/^ {4}(?:-\w, )?--([\w-]+)(?: <(.+)>)?:$/gm)].flatMap(
    ([, name = '', placeholder = 'true|false']) =>
      name === 'help'
        ? []
        : [
            {
              name,
              placeholder,
            },
          ],
  );
}

const badValues = [
  '',
  ' ',
  'x',
  '0',
  '-1',
  '1.5',
  '99999999',
  '5',
  '10ms',
  '5s',
  '1000h',
  'true',
  'a,,b',
].concat(['127.0.0.1:0', '10.0.0.1', 'https://10.0.0.1:6443', 'none.crt', 'empty.crt', 'snapshot-keys.json']);

function argumentsOf(flags: Flags): string[] {
  return Object.entries(flags).flatMap(([name, values]) => values.map((value) => `--${name}=${value}`));
}

/** By flag, and in it by value: lines, each with a line break before it. */
type Messages = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Messages about each value of each flag behind `base`, beyond what `base` alone has said. */
async function messages(
  command: string,
  base: readonly string[],
  values: readonly string[],
): Promise<Messages> {
  const usual = new Set(
    (await runCommand(files, [command, ...base, ...(command === 'sync' ? ['--v=x'] : [])])).errors.split(
      '\n',
    ),
  );
  const found = new Map<string, Map<string, string>>();
  for (const { name } of await flagsOf(command)) {
    const said = new Map<string, string>();
    // Something is always at fault, so that no sync job is started.
    const held = command === 'sync' ? [`--${name === 'v' ? 'logging-format' : 'v'}=x`] : [];
    for (const value of values) {
      // This one would have a router started.
      if (name === 'dry-run' && value === '0') continue;
      const { errors } = await runCommand(files, [command, ...base, ...held, `--${name}=${value}`]);
      const lines = errors.split('\n').filter((line) => line !== '' && !usual.has(line));
      said.set(value, lines.map((line) => `\n    ${withoutValue(line, value)}`).join(''));
    }
    found.set(name, said);
  }
  return found;
}

/** The same line for every value that is told of alike. */
function withoutValue(line: string, value: string): string {
  return line
    .replaceAll(JSON.stringify(value), '"<value>"')
    .replaceAll(`cannot read ${value}: `, 'cannot read <value>: ');
}

/** Values of which the same is said stand together. */
function grouped(said: ReadonlyMap<string, string>): string {
  const together = Map.groupBy(said, ([, text]) => text);
  return [...together]
    .map(([text, rows]) => `  ${rows.map(([value]) => value).join(' ')}${text === '' ? ' ok' : text}`)
    .join('\n');
}

function pageOf(found: Messages): string {
  const sections = [...found].map(([name, said]) => {
    const quoted = new Map([...said].map(([value, text]) => [JSON.stringify(value), text]));
    return `--${name}\n${grouped(quoted)}`;
  });
  return `${sections.join('\n\n')}\n`;
}

/** Messages that differ from the other ones, or are of flags that the other has not. */
function beyond(found: Messages, other: Messages): Messages {
  const rest = [...found].map(([name, said]) => {
    const same = other.get(name);
    return [name, new Map([...said].filter(([value, text]) => same?.get(value) !== text))] as const;
  });
  return new Map(rest.filter(([, said]) => said.size > 0));
}

const sidecar: Flags = {
  // Without it the addresses of the machine would be asked for.
  'bind-address': ['10.0.0.5'],
  ...Object.fromEntries(Object.entries(completeServeOptions).filter(([name]) => name !== 'snapshot-file')),
};
const gateway: Flags = Object.fromEntries(
  Object.entries({ ...sidecar, gateway: ['true'] }).filter(
    ([name]) => name !== 'server-id' && name !== 'local-server',
  ),
);
const gateOff: Flags = Object.fromEntries(
  Object.entries({
    ...sidecar,
    'feature-gates': ['UnknownVersionInteroperabilityProxy=false'],
    'local-server-ca-file': ['ca.crt'],
  }).filter(([name]) => name !== 'peer-ca-file'),
);

const pushing: Flags = {
  server: ['cp-a=https://10.0.0.1:6443'],
  'peer-ca-file': ['ca.crt'],
  'client-cert-file': ['serving.crt'],
  'client-key-file': ['serving.key'],
  target: ['https://10.0.0.1:7443'],
  'signing-key': ['signing.json'],
};
const push = argumentsOf(pushing);

/** Messages about each change to `base`, beyond those about `base` alone. */
async function together(
  callOf: (flags: Flags) => readonly string[],
  base: Flags,
  rows: readonly Changes[],
): Promise<string> {
  const usual = new Set((await runCommand(files, callOf(base))).errors.split('\n'));
  const sections: string[] = [];
  for (const changes of rows) {
    const entries = Object.entries({ ...base, ...changes });
    const flags = entries.flatMap(([name, values]) =>
      values === undefined ? [] : [[name, values] as const],
    );
    const { errors } = await runCommand(files, callOf(Object.fromEntries(flags)));
    assert.doesNotMatch(errors, /hunter2/, 'nothing of a file that may be secret is shown');
    const lines = errors.split('\n').filter((line) => line !== '' && !usual.has(line));
    const given = Object.entries(changes).map(([name, values]) =>
      values === undefined ? `(no --${name})` : argumentsOf({ [name]: values }).join(' '),
    );
    sections.push(`${given.join(' ')}\n${lines.length === 0 ? '  ok' : `  ${lines.join('\n  ')}`}`);
  }
  return `${sections.join('\n\n')}\n`;
}

describe('the flags', () => {
  for (const command of ['serve', 'sync', 'doctor']) {
    it(`of ${command} have the help they had`, async (context) => {
      const { output } = await runCommand(files, [command, '--help']);
      hold(context, `${command}-help`, output);
    });
  }

  const ofServe = (flags: Flags, values: readonly string[]) =>
    messages('serve', ['--dry-run', '--bind-address=10.0.0.5', ...argumentsOf(flags)], values);
  const fewValues = ['true', '5s', 'ca.crt'];

  it('of serve have the messages they had: those of a sidecar, and what other forms say otherwise', async (context) => {
    const usual = await ofServe(sidecar, [...badValues, 'ca.crt']);
    hold(context, 'serve-messages-sidecar', pageOf(usual));
    for (const [form, flags] of Object.entries({ gateway, 'gate-off': gateOff, nothing: {} })) {
      hold(context, `serve-messages-${form}`, pageOf(beyond(await ofServe(flags, fewValues), usual)));
    }
  });

  it('of sync have the messages they had: those of a job that pushes, and what other calls say otherwise', async (context) => {
    const usual = await messages('sync', push, [...badValues, 'signing.json']);
    hold(context, 'sync-messages-push', pageOf(usual));
    const calls: Readonly<Record<string, readonly string[]>> = {
      once: [...push, '--once'],
      from: ['--from=folder', '--out=snapshot.json', '--unsigned'],
      record: ['--record=folder', '--server=cp-a=https://10.0.0.1:6443', '--peer-ca-file=ca.crt'],
      nothing: [],
    };
    for (const [call, base] of Object.entries(calls)) {
      const said = await messages('sync', base, ['true', '5s', 'signing.json']);
      hold(context, `sync-messages-${call}`, pageOf(beyond(said, usual)));
    }
  });

  it('have together the messages they had', async (context) => {
    const forms = { sidecar, gateway, gateOff };
    for (const [form, base] of Object.entries(forms)) {
      const rows = serveCombinations[form as keyof typeof forms];
      const ofServe = (flags: Flags) => ['serve', '--dry-run', ...argumentsOf(flags)];
      hold(context, `serve-together-${form}`, await together(ofServe, base, rows));
    }
    const ofSync = (flags: Flags) => ['sync', '--v=x', ...argumentsOf(flags)];
    hold(context, 'sync-together', await together(ofSync, pushing, syncCombinations));
  });

  it('that are gone, unknown or repeated are told of as they were', async (context) => {
    const said: string[] = [];
    const gone = ['plain-requests', 'processes', 'http2-frames', 'http1-read-connections', 'direct-lane'];
    for (const command of ['serve', 'sync', 'doctor']) {
      for (const flag of [...gone, 'secure-prot', 'nothing-like-it']) {
        const { code, errors } = await runCommand(files, [command, '--v=x', `--${flag}=true`]);
        said.push(
          `${command} --${flag} (${code})\n${errors
            .split('\n')
            .filter((line) => line.includes(flag))
            .join('\n')}`,
        );
      }
    }
    for (const extra of ['router.yaml', 'word']) {
      const { errors } = await runCommand(files, ['serve', ...argumentsOf(sidecar), '--v=x', extra]);
      said.push(`serve ${extra}\n${errors}`);
    }
    hold(context, 'unknown', said.join('\n'));
  });
});

/** Another value than the default for each key, as a configuration file writes it. */
const samples: Readonly<Record<string, unknown>> = {
  'feature-gates': { UnknownVersionInteroperabilityProxy: false },
  'server-id': 'cp-b',
  'local-server': 'https://10.0.0.9:6444',
  'local-server-name': 'api.example',
  'allowed-peer-cidrs': ['10.0.0.0/8', '192.168.0.0/16'],
  'bind-address': '10.0.0.6',
  'advertise-address': '10.0.0.7',
  'peer-advertise-ip': '10.0.0.8',
  'admin-bind-address': '127.0.0.1:9443',
  'goaway-chance': 0.01,
  'tls-cert-file': 'front-proxy-client.crt',
  'tls-private-key-file': 'front-proxy-client.key',
  'client-ca-file': 'both-cas.crt',
  'peer-ca-file': 'both-cas.crt',
  'local-server-ca-file': 'both-cas.crt',
  'requestheader-client-ca-file': 'both-cas.crt',
  'snapshot-keys': 'keys2.json',
  'snapshot-file': 'kept',
  'assertion-keys': 'routers.json',
  'proxy-client-cert-file': 'serving.crt',
  'proxy-client-key-file': 'serving.key',
};

function sampleOf({ name, placeholder }: Flag): unknown {
  const sample = samples[name];
  if (sample !== undefined) return sample;
  if (placeholder === 'true|false') return true;
  if (placeholder === 'duration') return '7s';
  if (/^(number|count|days|events|level|megabytes|port)$/.test(placeholder)) return 7;
  if (placeholder.includes('|')) return placeholder.split('|').at(-1);
  return [`${placeholder}-1`, `${placeholder}-2`];
}

/** The JSON Schema of a configuration file, and the path of each flag's key in it. */
function schemaKeys(name: string): ReadonlyMap<string, readonly string[]> {
  const path = resolve(import.meta.dirname, '../../deploy', name);
  return new Map(keysOf(JSON.parse(readFileSync(path, 'utf8')), []));
}

interface SchemaPart {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SchemaPart>>;
}

function keysOf({ properties = {} }: SchemaPart, path: readonly string[]): [string, readonly string[]][] {
  return Object.entries(properties).flatMap(([key, part]): [string, readonly string[]][] => {
    const flag = / As --([\w-]+)\./.exec(part.description ?? '')?.[1];
    return flag === undefined ? keysOf(part, [...path, key]) : [[flag, [...path, key]]];
  });
}

function fileText(kind: string, path: readonly string[], value: unknown): string {
  const body = path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  return JSON.stringify({
    apiVersion: 'mixed-version-proxy/v1alpha1',
    kind,
    ...(value === undefined ? {} : (body as Readonly<Record<string, unknown>>)),
  });
}

const wrongTypes = [true, 7, -1, 0.5, '', 'x', ['x', 7], [], { a: 1 }, null];

describe('the keys of a configuration file', () => {
  for (const [command, kind, schema] of [
    ['serve', 'RouterConfiguration', 'config.schema.json'],
    ['sync', 'SyncConfiguration', 'sync-config.schema.json'],
  ] as const) {
    it(`of ${command} have the messages they had`, async (context) => {
      const said: string[] = [];
      const keys = schemaKeys(schema);
      for (const [flag, path] of keys) {
        const ofKey = new Map<string, string>();
        for (const value of wrongTypes) {
          const withFile = new Map([...files, ['file.json', fileText(kind, path, value)]]);
          const { errors } = await runCommand(withFile, [command, '--v=x', '--config=file.json']);
          const lines = errors.split('\n').filter((line) => line.startsWith('error: file.json'));
          const json = JSON.stringify(value);
          const alike = lines.map((line) =>
            line.endsWith(`not ${json}`) ? line.replace(/not [^ ]+$/, 'not <value>') : line,
          );
          ofKey.set(json, alike.map((line) => `\n    ${line}`).join(''));
        }
        said.push(`${path.join('.')}: --${flag}`, grouped(ofKey));
      }
      for (const path of ['serving.prot', 'no.such.key', 'snapshot']) {
        const withFile = new Map([...files, ['file.json', fileText(kind, path.split('.'), true)]]);
        said.push(path, (await runCommand(withFile, [command, '--v=x', '--config=file.json'])).errors);
      }
      hold(context, `${command}-keys`, said.join('\n'));
    });
  }

  it('of serve give way to flags, of which the last counts, and win over defaults', async (context) => {
    const said = [`nothing ${JSON.stringify(await settingsOf({}))}`];
    const usual = await settingsOf({});
    for (const [path, flag] of await routerKeys()) {
      const value = sampleOf(flag);
      const given = [String(Array.isArray(value) ? value.join(',') : gatesText(value))];
      const fromFile = await settingsOf({}, path, value, flag.name);
      const fromFlag = await settingsOf({ [flag.name]: given }, path, other(value), flag.name);
      const repeated = await settingsOf({ [flag.name]: ['first', ...given] }, [], undefined, flag.name);
      said.push(`--${flag.name}`);
      for (const [how, settings] of Object.entries({ fromFile, fromFlag, repeated })) {
        said.push(`  ${how} ${JSON.stringify(difference(usual, settings))}`);
      }
    }
    hold(context, 'serve-precedence', said.join('\n'));
  });
});

async function routerKeys(): Promise<readonly (readonly [readonly string[], Flag])[]> {
  const keys = schemaKeys('config.schema.json');
  return (await flagsOf('serve')).flatMap((flag) => {
    const path = keys.get(flag.name);
    return path === undefined ? [] : [[path, flag] as const];
  });
}

function gatesText(value: unknown): string {
  return typeof value === 'object' && value !== null
    ? Object.entries(value)
        .map(([gate, on]) => `${gate}=${on}`)
        .join(',')
    : String(value);
}

/** A value that must not count: the flag has another. */
function other(value: unknown): unknown {
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  return value;
}

/** The text of each setting of the configuration that `serve` comes to, by its path; or the faults. */
async function settingsOf(
  flags: Flags,
  path: readonly string[] = [],
  value?: unknown,
  without?: string,
): Promise<Readonly<Record<string, unknown>>> {
  const base = Object.fromEntries(Object.entries(sidecar).filter(([name]) => name !== without));
  const withFile = new Map([...files, ['file.json', fileText('RouterConfiguration', path, value)]]);
  const { context, written } = commandContext(new Map([...withFile].flatMap(inWorkingDirectory)));
  try {
    const given = {
      flags: { ...base, ...flags, config: ['file.json'] },
      issues: [],
    };
    const { config } = await readServeInput(given, context);
    return { ...flatten(config, ''), warnings: written.errors };
  } catch (error) {
    return { error: error instanceof Error ? error.message.replaceAll(process.cwd(), '.') : error };
  }
}

/** Paths in a file become absolute: they are those of its folder. */
function inWorkingDirectory([name, text]: readonly [string, string]): [string, string][] {
  return [
    [name, text],
    [resolve(name), text],
  ];
}

function flatten(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'string') return { [path]: value.includes('\n') ? '(text)' : shown(value) };
  // Certificates and keys differ from run to run, and stand where they are used.
  if (path === '.credentialFiles') return {};
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { [path]: value };
  if (value instanceof Map) return { [path]: `${value.size} entries` };
  if (path.endsWith('.loaded')) return { [path]: '(key)' };
  return Object.assign({}, ...Object.entries(value).map(([key, part]) => flatten(part, `${path}.${key}`)));
}

function shown(text: string): string {
  return text.startsWith('{') ? '(document)' : text.replaceAll(process.cwd(), '.');
}

function difference(
  usual: Readonly<Record<string, unknown>>,
  settings: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const names = new Set([...Object.keys(usual), ...Object.keys(settings)]);
  if ('error' in settings) return settings;
  return Object.fromEntries(
    [...names]
      .filter((name) => JSON.stringify(usual[name]) !== JSON.stringify(settings[name]))
      .map((name) => [name, settings[name] ?? null]),
  );
}
