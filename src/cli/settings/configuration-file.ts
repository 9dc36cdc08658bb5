import { dirname, resolve } from 'node:path';
import {
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseAllDocuments,
  visit,
} from 'yaml';
import {
  isSection,
  isSetting,
  type SectionSchema,
  type SettingSchema,
  settingsOf,
  shownText,
} from '../../node/configuration/setting.ts';
import { fieldPath, quoted } from '../../runtime/validation.ts';
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

/** A kind of configuration file. */
export interface ConfigurationKind {
  readonly kind: string;
  readonly settings: SectionSchema;
}

/** A configuration file as it was read. */
export interface ConfigurationFile {
  readonly path: string;
  readonly text: string;
  /** The values that have no error. Paths in them are absolute. */
  readonly values: ReadonlyMap<string, GivenValue>;
  /** Every error, in the order of the file: `router.yaml:12:9: serving.port must be …`; editors and terminals follow it. */
  readonly issues: readonly string[];
}

/** Syntax errors that are told one by one. */
const maximumSyntaxErrors = 5;

/**
 * Reads a configuration file, YAML 1.2 or JSON. Strict: unknown and repeated keys, wrong types, more than one
 * document, anchors and tags are errors, and each says where it stands. Pure.
 */
export function parseConfigurationFile(
  path: string,
  text: string,
  kind: ConfigurationKind,
): ConfigurationFile {
  const reader = new ConfigurationReader(path, kind);
  reader.read(text);
  const issues = reader.issues
    .toSorted((a, b) => a.line - b.line || a.column - b.column)
    .map((issue) => `${path}:${issue.line}:${issue.column}: ${issue.message}`);
  return { path, text, values: reader.values, issues };
}

class ConfigurationReader {
  readonly issues: { readonly line: number; readonly column: number; readonly message: string }[] = [];
  readonly values = new Map<string, GivenValue>();
  readonly #file: string;
  readonly #kind: ConfigurationKind;
  readonly #lines = new LineCounter();

  constructor(file: string, kind: ConfigurationKind) {
    this.#file = file;
    this.#kind = kind;
  }

  read(text: string): void {
    const documents = parseAllDocuments(text, {
      lineCounter: this.#lines,
      prettyErrors: false,
      strict: true,
      uniqueKeys: true,
      logLevel: 'silent',
    });
    const [document, second] = 'empty' in documents ? [] : documents;
    if (second?.range !== undefined) {
      this.#issue(second.range[0], '', 'holds a second document: one file is one configuration');
    }
    const errors = [...(document?.errors ?? []), ...(document?.warnings ?? [])]
      // The rest can be read: its errors are reported in the same run.
      .filter(({ code }) => code !== 'DUPLICATE_KEY');
    // A file of another kind has an error in each of its lines.
    for (const { code, pos } of errors.slice(0, maximumSyntaxErrors)) {
      // Without the parser's words: they quote the text, and it may be a key given by mistake.
      const message = `is neither YAML nor JSON (${code}): see the indentation, and that a space follows each colon`;
      this.#issue(pos[0], '', message);
    }
    const next = errors[maximumSyntaxErrors];
    if (next !== undefined) {
      this.#issue(next.pos[0], '', `${errors.length - maximumSyntaxErrors} more errors of this kind follow`);
    }
    if (document === undefined || document.contents === null) {
      this.#issue(0, '', `is empty: begin with apiVersion: ${configurationVersion}`);
      return;
    }
    if (this.issues.length > 0) return;
    visit(document, {
      Alias: (_, { range }) => this.#issue(range?.[0], '', 'is an alias: write the value out'),
    });
    this.#document(document.contents);
    for (const { code, pos } of document.errors) {
      if (code === 'DUPLICATE_KEY' && !this.#hasIssueAt(pos[0])) this.#issue(pos[0], '', repeatedKey);
    }
  }

  #document(contents: Node): void {
    if (!isMap(contents)) {
      this.#issue(contents.range?.[0], '', 'must be an object with apiVersion and kind');
      return;
    }
    const wanted = { apiVersion: configurationVersion, kind: this.#kind.kind };
    for (const [name, value] of Object.entries(wanted)) {
      const pair = contents.items.find((each) => keyOf(each) === name);
      if (pair === undefined) this.#issue(contents.range?.[0], name, `is required: ${value}`);
      else if (!isScalar(pair.value) || pair.value.value !== value) {
        this.#issue(startOf(pair.value), name, `must be ${value}`);
      }
    }
    const rest = contents.items.filter((pair) => !Object.hasOwn(wanted, keyOf(pair) ?? ''));
    this.#members(rest, this.#kind.settings, '');
  }

  #members(pairs: readonly Pair[], section: SectionSchema, path: string): void {
    const seen = new Set<string>();
    for (const pair of pairs) {
      const name = keyOf(pair);
      if (name === undefined) {
        this.#issue(startOf(pair.key), path, 'has a key that is no name');
        continue;
      }
      const memberPath = fieldPath(path, name);
      if (seen.has(name)) {
        this.#issue(startOf(pair.key), memberPath, repeatedKey);
        continue;
      }
      seen.add(name);
      const member = Object.hasOwn(section.entries, name) ? section.entries[name] : undefined;
      if (member === undefined) {
        const similar = similarName(name, Object.keys(section.entries));
        this.#unknownKey(pair, memberPath, [
          ...(similar === undefined ? [] : [similar]),
          ...this.#pathsOf(name),
        ]);
      } else if (isSetting(member)) this.#value(pair, member, memberPath);
      else if (isSection(member) && isMap(pair.value)) this.#members(pair.value.items, member, memberPath);
      // A section with only comments in it counts as absent.
      else if (!isEmpty(pair.value)) this.#issue(startOf(pair.value), memberPath, 'must be an object');
    }
  }

  /** @param candidates what may have been meant */
  #unknownKey(pair: Pair, path: string, candidates: readonly string[]): void {
    if (isMap(pair.value) && candidates.length === 0) {
      const members = pair.value.items.map((member) => {
        const name = keyOf(member) ?? '';
        return { member, memberPath: fieldPath(path, name), elsewhere: this.#pathsOf(name) };
      });
      // What a section holds that there is not may belong to others.
      if (members.some(({ elsewhere }) => elsewhere.length > 0)) {
        for (const { member, memberPath, elsewhere } of members) {
          this.#unknownKey(member, memberPath, elsewhere);
        }
        return;
      }
    }
    const hint = candidates.length === 0 ? '' : `; did you mean ${oneOf.format(candidates)}?`;
    this.#issue(startOf(pair.key), path, `is no key of this configuration${hint}`);
  }

  #value(pair: Pair, setting: SettingSchema, path: string): void {
    const node = pair.value;
    if (isAlias(node)) return;
    const input = plainValue(node);
    for (const fault of faultsOf(setting, input)) {
      const at = startOf(nodeAt(node, fault.path)) ?? startOf(pair.key);
      this.#issue(at, fault.path.reduce(fieldPath, path), fault.message);
    }
    if (faultsOf(setting, input).length > 0) return;
    const source = { kind: 'file', file: this.#file, path, ...this.#position(startOf(node)) } as const;
    const absolute = setting.takes.isPath
      ? withPaths(input, (each) => inFolder(dirname(this.#file), each))
      : input;
    this.values.set(setting.flag, { input: absolute, shown: shownText(absolute), source });
  }

  /** Where a configuration has a key of this name, or the key of the flag of this name. */
  #pathsOf(name: string): readonly string[] {
    const paths = settingsOf(this.#kind.settings).flatMap(({ path, flag }) => {
      const at = path.indexOf(name);
      if (at !== -1) return [path.slice(0, at + 1)];
      return flag === name ? [path] : [];
    });
    return [...new Set(paths.map((path) => path.join('.')))];
  }

  #hasIssueAt(offset: number): boolean {
    const { line, column } = this.#position(offset);
    return this.issues.some((issue) => issue.line === line && issue.column === column);
  }

  #issue(offset: number | undefined, path: string, predicate: string): void {
    const message = path === '' ? predicate : `${path} ${predicate}`;
    this.issues.push({ ...this.#position(offset), message });
  }

  #position(offset = 0): { readonly line: number; readonly column: number } {
    const { line, col } = this.#lines.linePos(offset);
    // Nothing is known of a text without lines: then the error is at its beginning.
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

/** A value with its paths replaced; names beside them stay. */
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

/** Standard output is no path. */
function inFolder(folder: string, path: string): string {
  return path === '-' ? path : resolve(folder, path);
}

const oneOf = new Intl.ListFormat('en-GB', { type: 'disjunction' });

const repeatedKey = 'is a key that was given before';

function keyOf({ key }: Pair): string | undefined {
  return isScalar(key) && typeof key.value === 'string' ? key.value : undefined;
}

function startOf(node: unknown): number | undefined {
  return isMap(node) || isSeq(node) || isScalar(node) ? node.range?.[0] : undefined;
}

function isEmpty(node: unknown): boolean {
  return node === null || (isScalar(node) && node.value === null);
}

/** The value of a node without aliases, as JSON has it. */
function plainValue(node: unknown): unknown {
  if (isScalar(node)) return node.value;
  if (isSeq(node)) return node.items.map(plainValue);
  if (!isMap(node)) return null;
  return Object.fromEntries(
    node.items.map((pair) => [keyOf(pair) ?? quoted(String(pair.key)), plainValue(pair.value)]),
  );
}

function nodeAt(node: unknown, keys: readonly (string | number)[]): unknown {
  const [key, ...rest] = keys;
  if (key === undefined) return node;
  if (isSeq(node) && typeof key === 'number') return nodeAt(node.items[key], rest);
  if (isMap(node)) return nodeAt(node.items.find((pair) => keyOf(pair) === key)?.value, rest);
  return node;
}

/** What a command was given by flags and by its configuration file. */
export interface Given {
  readonly file: ConfigurationFile | undefined;
  /** Flags win, setting by setting, as in Kubernetes' own components. */
  readonly layers: readonly GivenValues[];
  /** A line for each error of the file. */
  readonly issues: readonly string[];
  /**
   * A line for each of these that is certain: where something cannot be read, an error about what is missing may come of
   * what was meant for it.
   * @param isKnown whether every flag is known. One that is not may be any other, misspelt. Default: it is
   */
  certain(issues: readonly SettingIssue[], isKnown?: boolean): readonly string[];
}

/**
 * Reads the file that `--config` names, if it is given.
 * @param root all settings of the command
 * @throws {CommandFailure} exit code 2 when the file cannot be read
 */
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
