import type * as v from 'valibot';
import type { TimeSlice } from '../../runtime/time.ts';
import { expected, fieldPath, type IssueList, isJsonObject, readValue } from '../../runtime/validation.ts';
import { isPrototypeKey, nameIssue, prototypeKeyIssue } from './schema.ts';

export type Read<Value> = (input: unknown, path: string) => Value | undefined | Promise<Value | undefined>;
export type KeyIssue = (key: string) => string | undefined;

/**
 * Reads a large JSON value in small pieces, each against its own schema, and rests in between. Strict: an unknown member is
 * an error, and so is one that is named like a part of a prototype. Collects all errors.
 */
export class StrictReader {
  protected readonly issues: IssueList;
  protected readonly slice: TimeSlice;

  constructor(issues: IssueList, slice: TimeSlice) {
    this.issues = issues;
    this.slice = slice;
  }

  protected value<Schema extends v.GenericSchema>(schema: Schema): Read<v.InferOutput<Schema>> {
    return (input, path) => this.read(schema, input, path);
  }

  protected read<Schema extends v.GenericSchema>(
    schema: Schema,
    input: unknown,
    path: string,
  ): v.InferOutput<Schema> | undefined {
    const way = wayToPrototypeKey(input);
    if (way === undefined) return readValue(schema, input, path, this.issues);
    this.issues.add(way.reduce(fieldPath, path), prototypeKeyIssue);
    return undefined;
  }

  /** The members of an object that has these and no others. */
  protected members<Key extends string>(
    input: unknown,
    path: string,
    known: readonly Key[],
  ): Readonly<Partial<Record<Key, unknown>>> | undefined {
    if (!this.isObject(input, path)) return undefined;
    const names: ReadonlySet<string> = new Set(known);
    for (const key of Object.keys(input)) {
      if (names.has(key)) continue;
      this.issues.add(fieldPath(path, key), nameIssue(key) ?? 'is not a field of this object');
    }
    return input as Readonly<Partial<Record<Key, unknown>>>;
  }

  protected async list<Item>(
    input: unknown,
    path: string,
    maximum: number,
    readItem: Read<Item>,
  ): Promise<Item[]> {
    if (!Array.isArray(input) || input.length > maximum) {
      const actual = Array.isArray(input)
        ? `must have at most ${maximum} items, not ${input.length}`
        : 'must be an array';
      this.issues.add(path, input === undefined ? 'is required' : actual);
      return [];
    }
    const items: Item[] = [];
    for (const [index, value] of input.entries()) {
      const item = await readItem(value, fieldPath(path, index));
      if (item !== undefined) items.push(item);
      await this.slice.rest();
    }
    return items;
  }

  /** The entries of a map that `readEntry` could read. @param keyIssue the error of a key, if it has one */
  protected async record<Value>(
    input: unknown,
    path: string,
    maximum: number,
    keyIssue: KeyIssue,
    readEntry: (input: unknown, path: string, key: string) => ReturnType<Read<Value>>,
  ): Promise<Record<string, Value>> {
    const entries = this.isObject(input, path) ? Object.entries(input) : [];
    if (entries.length > maximum) {
      this.issues.add(path, `must have at most ${maximum} entries, not ${entries.length}`);
      return {};
    }
    const result: [string, Value][] = [];
    for (const [key, value] of entries) {
      const entryPath = fieldPath(path, key);
      const issue = nameIssue(key) ?? keyIssue(key);
      if (issue !== undefined) this.issues.add(entryPath, issue);
      const read = isPrototypeKey(key) ? undefined : await readEntry(value, entryPath, key);
      if (read !== undefined) result.push([key, read]);
      await this.slice.rest();
    }
    return Object.fromEntries(result);
  }

  protected isObject(input: unknown, path: string): input is Readonly<Record<string, unknown>> {
    if (isJsonObject(input)) return true;
    const actual = path === '' ? 'must be an object' : expected('an object')({ input });
    this.issues.add(path, actual);
    return false;
  }
}

/** The way to the first member that is named like a part of a prototype, which no schema sees. */
function wayToPrototypeKey(value: unknown, depth = 0): readonly (string | number)[] | undefined {
  // No schema of a piece looks deeper.
  if (typeof value !== 'object' || value === null || depth > 8) return undefined;
  for (const [key, member] of Object.entries(value)) {
    if (isPrototypeKey(key)) return [key];
    const below = wayToPrototypeKey(member, depth + 1);
    if (below !== undefined) return [Array.isArray(value) ? Number(key) : key, ...below];
  }
  return undefined;
}
