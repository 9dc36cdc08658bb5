import { dirname, resolve } from 'node:path';
import { type Document, isMap, isNode, isScalar, LineCounter, parseDocument, visit } from 'yaml';
import {
  isSection,
  isSetting,
  type SectionSchema,
  type SettingSchema,
  settingsOf,
  shownText,
} from '../../node/configuration/setting.ts';
import { fieldPath, isJsonObject } from '../../runtime/validation.ts';
import { type CommandContext, readInputFile } from '../terminal/command-context.ts';
import { similarName } from '../terminal/similar-name.ts';
import {
  describeIssue,
  faultsOf,
  type GivenValue,
  type GivenValues,
  givenByFlags,
  type RawFlags,
  type SettingIssue,
  Settings,
} from './read-settings.ts';

/** The version of the file format; of other kinds of this program, too. */
export const configurationVersion = 'mixed-version-proxy/v1alpha1';

export interface ConfigurationKind {
  readonly kind: string;
  readonly settings: SectionSchema;
}

interface ConfigurationFile {
  readonly path: string;
  readonly text: string;
  /** The values that have no error. Paths in them are absolute. */
  readonly values: ReadonlyMap<string, GivenValue>;
  /** Every error, in the order of the file: `router.yaml:12:9: serving.port must be …`; editors and terminals follow it. */
  readonly issues: readonly string[];
}

const maximumSyntaxErrors = 5;

const syntaxErrors: Readonly<Partial<Record<string, string>>> = {
  DUPLICATE_KEY: 'is a key that was given before',
  MULTIPLE_DOCS: 'holds a second document: one file is one configuration',
};

/**
 * Reads a configuration file, YAML 1.2 or JSON. Strict: unknown and repeated keys, wrong types, more than one
 * document, anchors and tags are errors, and each says where it stands. Pure.
 */
export function parseConfigurationFile(
  path: string,
  text: string,
  kind: ConfigurationKind,
): ConfigurationFile {
  const reading = new FileReading(path, text, kind);
  reading.readSyntax();
  if (reading.issues.length === 0) reading.readContent();
  const inOrder = reading.issues.toSorted((a, b) => a.line - b.line || a.column - b.column);
  return {
    path,
    text,
    values: reading.values,
    issues: inOrder.map(({ line, column, message }) => `${path}:${line}:${column}: ${message}`),
  };
}

class FileReading {
  readonly values = new Map<string, GivenValue>();
  readonly issues: { readonly line: number; readonly column: number; readonly message: string }[] = [];
  readonly #path: string;
  readonly #kind: ConfigurationKind;
  readonly #lines = new LineCounter();
  readonly #document: Document.Parsed;

  constructor(path: string, text: string, kind: ConfigurationKind) {
    this.#path = path;
    this.#kind = kind;
    const options = { lineCounter: this.#lines, prettyErrors: false, logLevel: 'error' } as const;
    this.#document = parseDocument(text, options);
  }

  readSyntax(): void {
    const errors = [...this.#document.errors, ...this.#document.warnings];
    // A file of another kind has an error in each of its lines.
    for (const { code, pos } of errors.slice(0, maximumSyntaxErrors)) {
      // Without the parser's words: they quote the text, and it may be a key given by mistake.
      const other = `is neither YAML nor JSON (${code}): see the indentation, and that a space follows each colon`;
      this.#issue(pos[0], [], syntaxErrors[code] ?? other);
    }
    const next = errors[maximumSyntaxErrors];
    if (next !== undefined) {
      const left = errors.length - maximumSyntaxErrors;
      this.#issue(next.pos[0], [], `${left} more errors of this kind follow`);
    }
    visit(this.#document, {
      Alias: (_, { range }) => this.#issue(range?.[0], [], 'is an alias: write the value out'),
    });
  }

  readContent(): void {
    const content: unknown = this.#document.toJS();
    if (content === null) {
      this.#issue(0, [], `is empty: begin with apiVersion: ${configurationVersion}`);
    } else if (isJsonObject(content)) {
      const { apiVersion, kind, ...members } = content;
      this.#require('apiVersion', apiVersion, configurationVersion);
      this.#require('kind', kind, this.#kind.kind);
      this.#readMembers(members, this.#kind.settings, []);
    } else this.#issue(0, [], 'must be an object with apiVersion and kind');
  }

  #require(key: string, given: unknown, wanted: string): void {
    if (given === undefined) this.#issue(0, [key], `is required: ${wanted}`);
    else if (given !== wanted) this.#issue(valueOffset(this.#document, [key]), [key], `must be ${wanted}`);
  }

  #readMembers(members: Readonly<Record<string, unknown>>, section: SectionSchema, keys: Keys): void {
    for (const [name, value] of Object.entries(members)) {
      const at = [...keys, name];
      const member = Object.hasOwn(section.entries, name) ? section.entries[name] : undefined;
      if (member === undefined) {
        const predicate = `is no key of this configuration${meant(name, section, this.#kind)}`;
        this.#issue(keyOffset(this.#document, at), at, predicate);
      } else if (isSetting(member)) this.#readValue(value, member, at);
      else if (isSection(member) && isJsonObject(value)) this.#readMembers(value, member, at);
      // A section with only comments in it counts as absent.
      else if (value !== null) this.#issue(valueOffset(this.#document, at), at, 'must be an object');
    }
  }

  #readValue(input: unknown, setting: SettingSchema, keys: Keys): void {
    const faults = faultsOf(setting, input);
    for (const fault of faults) {
      const at = [...keys, ...fault.path];
      const offset = valueOffset(this.#document, at) ?? keyOffset(this.#document, keys);
      this.#issue(offset, at, fault.message);
    }
    if (faults.length > 0) return;
    const folder = dirname(this.#path);
    const absolute = setting.takes.isPath ? withPaths(input, (each) => inFolder(folder, each)) : input;
    const source = {
      kind: 'file',
      file: this.#path,
      path: keys.reduce<string>(fieldPath, ''),
      ...this.#positionOf(valueOffset(this.#document, keys)),
    } as const;
    this.values.set(setting.flag, { input: absolute, shown: shownText(absolute), source });
  }

  #issue(offset: number | undefined, keys: Keys, predicate: string): void {
    const at = keys.reduce<string>(fieldPath, '');
    this.issues.push({ ...this.#positionOf(offset), message: at === '' ? predicate : `${at} ${predicate}` });
  }

  #positionOf(offset = 0): { readonly line: number; readonly column: number } {
    const { line, col } = this.#lines.linePos(offset);
    // Nothing is known of a text without lines: then the error is at its beginning.
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

type Keys = readonly (string | number)[];

function valueOffset(document: Document.Parsed, keys: Keys): number | undefined {
  const node = document.getIn(keys, true);
  return isNode(node) ? node.range?.[0] : undefined;
}

function keyOffset(document: Document.Parsed, keys: Keys): number | undefined {
  const parent = document.getIn(keys.slice(0, -1), true);
  if (!isMap(parent)) return undefined;
  const key = parent.items
    .map((pair) => pair.key)
    .find((each) => isScalar(each) && each.value === keys.at(-1));
  return isNode(key) ? key.range?.[0] : undefined;
}

/** Keys that may have been meant: similar ones of its section, ones that stand elsewhere, or ones named by a flag. */
function meant(name: string, section: SectionSchema, { settings }: ConfigurationKind): string {
  const similar = similarName(name, Object.keys(section.entries));
  const elsewhere = settingsOf(settings).flatMap(({ path, flag }) => {
    const at = path.indexOf(name);
    return at === -1 && flag !== name ? [] : [path.slice(0, at === -1 ? undefined : at + 1).join('.')];
  });
  const candidates = [...new Set([...(similar === undefined ? [] : [similar]), ...elsewhere])];
  return candidates.length === 0 ? '' : `; did you mean ${oneOf.format(candidates)}?`;
}

export function withPaths(input: unknown, replace: (path: string) => string | undefined): unknown {
  if (typeof input === 'string') return replace(input);
  if (Array.isArray(input)) return input.map((each) => withPaths(each, replace));
  if (typeof input !== 'object' || input === null) return input;
  const replaced = Object.entries(input).map(([key, value]) => [
    key,
    key === 'names' ? value : withPaths(value, replace),
  ]);
  return Object.fromEntries(replaced);
}

function inFolder(folder: string, path: string): string {
  return path === '-' ? path : resolve(folder, path);
}

const oneOf = new Intl.ListFormat('en-GB', { type: 'disjunction' });

export interface Given {
  readonly file: ConfigurationFile | undefined;
  /** Flags win, setting by setting, as in Kubernetes' own components. */
  readonly layers: readonly GivenValues[];
  readonly issues: readonly string[];
  /**
   * A line for each of these that is certain: where something cannot be read, an error about what is missing may come of
   * what was meant for it.
   * @param isKnown whether every flag is known. One that is not may be any other, misspelt. Default: it is
   */
  certain(issues: readonly SettingIssue[], isKnown?: boolean): readonly string[];
}

/** @throws {CommandFailure} exit code 2 when the file that `--config` names cannot be read */
export function readGiven(
  context: CommandContext,
  kind: ConfigurationKind,
  root: SectionSchema,
  raw: RawFlags,
): Given {
  const flags = givenByFlags(root, raw);
  const path = raw['config']?.at(-1);
  const file =
    path === undefined
      ? undefined
      : parseConfigurationFile(path, readInputFile(context, '--config', path), kind);
  const issues = file?.issues ?? [];
  // A flag that this call has no use for is a mistake; in a file, which is the same for all calls, it is not.
  const useless = new Set(new Settings(root, [flags], context.readFile).useless());
  const inFile = [...(file?.values ?? [])].filter(([flag]) => !useless.has(flag));
  return {
    file,
    layers: [flags, new Map(inFile)],
    issues,
    certain(all, isKnown = true) {
      const isWhole = isKnown && issues.length === 0;
      return all.filter(({ isOfMissing }) => isWhole || !isOfMissing).map(describeIssue);
    },
  };
}
