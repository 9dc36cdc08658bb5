import * as v from 'valibot';
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
import { fieldPath, quoted } from '../../runtime/validation.ts';
import type { FlagDefinition } from '../flags/flag.ts';
import { similarName } from '../terminal/similar-name.ts';
import {
  type ConfigurationKind,
  type ConfigurationSection,
  configurationVersion,
} from './configuration-kind.ts';

/** Syntax errors that are told one by one. */
const maximumSyntaxErrors = 5;

/** Where in a file, both counted from 1. */
export interface FilePosition {
  readonly line: number;
  readonly column: number;
}

/** An error at one place of a configuration file. */
export interface ConfigurationIssue extends FilePosition {
  /** For example `serving.port`; empty for the document as a whole. */
  readonly path: string;
  /** A predicate that follows the path. */
  readonly message: string;
}

/** A value that the file sets. */
export interface ConfiguredValue<Name extends string = string> {
  readonly flag: FlagDefinition<Name>;
  /** As its schema has it. */
  readonly value: unknown;
  readonly path: string;
  readonly position: FilePosition;
}

type ParseConfigurationResult<Name extends string = string> =
  | { readonly ok: true; readonly values: readonly ConfiguredValue<Name>[] }
  /** Every error, in the order of the file, and the values that have none. */
  | {
      readonly ok: false;
      readonly issues: readonly ConfigurationIssue[];
      readonly values: readonly ConfiguredValue<Name>[];
    };

/**
 * Reads a configuration file, YAML 1.2 or JSON. Strict: unknown and repeated keys, wrong types, more than one
 * document, anchors and tags are errors, and each says where it stands. Pure.
 */
export function parseConfiguration<Name extends string>(
  text: string,
  kind: ConfigurationKind<Name>,
): ParseConfigurationResult<Name> {
  const reader = new ConfigurationReader(kind);
  const values = reader.read(text);
  const { issues } = reader;
  if (issues.length === 0) return { ok: true, values };
  return { ok: false, issues: issues.toSorted((a, b) => a.line - b.line || a.column - b.column), values };
}

class ConfigurationReader<Name extends string> {
  readonly issues: ConfigurationIssue[] = [];
  readonly #kind: ConfigurationKind<Name>;
  readonly #values: ConfiguredValue<Name>[] = [];
  readonly #lines = new LineCounter();

  constructor(kind: ConfigurationKind<Name>) {
    this.#kind = kind;
  }

  read(text: string): readonly ConfiguredValue<Name>[] {
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
      return [];
    }
    if (this.issues.length > 0) return [];
    visit(document, {
      Alias: (_, { range }) => this.#issue(range?.[0], '', 'is an alias: write the value out'),
    });
    this.#document(document.contents);
    for (const { code, pos } of document.errors) {
      if (code === 'DUPLICATE_KEY' && !this.#hasIssueAt(pos[0])) this.#issue(pos[0], '', repeatedKey);
    }
    return this.#values;
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
    this.#members(rest, this.#kind, '');
  }

  #members(pairs: readonly Pair[], section: ConfigurationSection<Name>, path: string): void {
    const seen = new Set<string>();
    for (const pair of pairs) {
      const name = keyOf(pair);
      if (name !== undefined && seen.has(name)) {
        this.#issue(startOf(pair.key), fieldPath(path, name), repeatedKey);
        continue;
      }
      if (name !== undefined) seen.add(name);
      if (name === undefined) {
        this.#issue(startOf(pair.key), path, 'has a key that is no name');
        continue;
      }
      const memberPath = fieldPath(path, name);
      const member = section.members.get(name);
      if (member === undefined) {
        const similar = similarName(name, [...section.members.keys()]);
        const candidates = [...(similar === undefined ? [] : [similar]), ...pathsOf(name, this.#kind)];
        this.#unknownKey(pair, memberPath, candidates);
      } else if (!('members' in member)) this.#value(pair, member, memberPath);
      else if (isMap(pair.value)) this.#members(pair.value.items, member, memberPath);
      // A section with only comments in it counts as absent.
      else if (!isEmpty(pair.value)) this.#issue(startOf(pair.value), memberPath, 'must be an object');
    }
  }

  /** @param candidates what may have been meant */
  #unknownKey(pair: Pair, path: string, candidates: readonly string[]): void {
    if (isMap(pair.value) && candidates.length === 0) {
      const members = pair.value.items.map((member) => {
        const name = keyOf(member) ?? '';
        return { member, memberPath: fieldPath(path, name), elsewhere: pathsOf(name, this.#kind) };
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

  #value(pair: Pair, flag: FlagDefinition<Name>, path: string): void {
    const node = pair.value;
    if (isAlias(node)) return;
    const result = v.safeParse(flag.value.configured, plainValue(node));
    if (result.success) {
      const position = this.#position(startOf(node));
      this.#values.push({ flag, value: result.output, path, position });
      return;
    }
    for (const { path: items = [], message } of result.issues) {
      const keys = items.flatMap(({ key }) =>
        typeof key === 'string' || typeof key === 'number' ? [key] : [],
      );
      this.#issue(startOf(nodeAt(node, keys)) ?? startOf(pair.key), keys.reduce(fieldPath, path), message);
    }
  }

  #hasIssueAt(offset: number): boolean {
    const { line, column } = this.#position(offset);
    return this.issues.some((issue) => issue.line === line && issue.column === column);
  }

  #issue(offset: number | undefined, path: string, message: string): void {
    this.issues.push({ ...this.#position(offset), path, message });
  }

  #position(offset = 0): FilePosition {
    const { line, col } = this.#lines.linePos(offset);
    // Nothing is known of a text without lines: then the error is at its beginning.
    return { line: Math.max(line, 1), column: Math.max(col, 1) };
  }
}

const oneOf = new Intl.ListFormat('en-GB', { type: 'disjunction' });

const repeatedKey = 'is a key that was given before';

function keyOf({ key }: Pair): string | undefined {
  return isScalar(key) && typeof key.value === 'string' ? key.value : undefined;
}

function startOf(node: unknown): number | undefined {
  return isMap(node) || isSeq(node) || isScalar(node) ? node.range?.[0] : undefined;
}

/** Where a configuration has a key of this name, or the key of the flag of this name. */
function pathsOf(name: string, section: ConfigurationSection, path = ''): readonly string[] {
  return [...section.members].flatMap(([key, member]) => {
    const memberPath = fieldPath(path, key);
    const isFlag = !('members' in member);
    const found = key === name || (isFlag && member.name === name) ? [memberPath] : [];
    return isFlag ? found : [...found, ...pathsOf(name, member, memberPath)];
  });
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
