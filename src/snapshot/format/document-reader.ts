import * as v from 'valibot';
import { fieldPath, type IssueList } from './issues.ts';
import { isJsonObject } from './json-text.ts';

/** Reads one value of a document. `undefined` when it has errors, which are then in `issues`. */
export type Read<Value> = (input: unknown, path: string) => Value | undefined;

type Reads = Readonly<Record<string, Read<unknown>>>;
type Values<Members extends Reads> = {
  -readonly [Key in keyof Members]: Exclude<ReturnType<Members[Key]>, undefined>;
};

/** Reads a document piece by piece, each against its own schema, and collects all errors. */
export class DocumentReader {
  readonly issues: IssueList;

  constructor(issues: IssueList) {
    this.issues = issues;
  }

  /** `input` as the schema has it; `undefined` when it has errors, which are then in `issues`. */
  read<Schema extends v.GenericSchema>(
    schema: Schema,
    input: unknown,
    path: string,
  ): v.InferOutput<Schema> | undefined {
    const result = v.safeParse(schema, input);
    if (result.success) return result.output;
    for (const issue of result.issues) this.issues.add(pathOf(path, issue), issue.message);
    return undefined;
  }

  /** `read` with this schema. */
  value<Schema extends v.GenericSchema>(schema: Schema): Read<v.InferOutput<Schema>> {
    return (input, path) => this.read(schema, input, path);
  }

  /** An object with these members and no others. An optional one that has errors is left out. */
  object<Required extends Reads, Optional extends Reads>(
    required: Required,
    optional: Optional,
  ): Read<Values<Required> & Partial<Values<Optional>>> {
    const reads = Object.entries<Read<unknown>>({ ...required, ...optional });
    const known = reads.map(([key]) => key);
    return (input, path) => {
      const members = this.members(input, path, known);
      if (members === undefined) return undefined;
      const output: Record<string, unknown> = {};
      let isWhole = true;
      for (const [key, read] of reads) {
        const isRequired = Object.hasOwn(required, key);
        if (members[key] === undefined && !isRequired) continue;
        const value = read(members[key], fieldPath(path, key));
        if (value !== undefined) output[key] = value;
        else if (isRequired) isWhole = false;
      }
      return isWhole ? (output as Values<Required> & Partial<Values<Optional>>) : undefined;
    };
  }

  /** The members of an object that has these members and no others. The values are read by the caller. */
  members<Key extends string>(
    input: unknown,
    path: string,
    known: readonly Key[],
  ): Readonly<Partial<Record<Key, unknown>>> | undefined {
    const members = this.#object(input, path);
    if (members === undefined) return undefined;
    const names = new Set<string>(known);
    for (const key of Object.keys(members)) {
      if (!names.has(key)) this.issues.add(fieldPath(path, key), 'is not a field of this object');
    }
    return members as Readonly<Partial<Record<Key, unknown>>>;
  }

  /** The items that `readItem` could read. */
  list<Item>(maximum: number, readItem: Read<Item>): (input: unknown, path: string) => Item[] {
    return (input, path) => {
      if (!Array.isArray(input)) {
        this.issues.add(path, input === undefined ? 'is required' : 'must be an array');
        return [];
      }
      if (input.length > maximum) {
        this.issues.add(path, `must have at most ${maximum} items, not ${input.length}`);
        return [];
      }
      return input.flatMap((value: unknown, index) => {
        const item = readItem(value, fieldPath(path, index));
        return item === undefined ? [] : [item];
      });
    };
  }

  /** The entries of a map that `readValue` could read. @param keyIssue the error of a key, if it has one */
  record<Value>(
    maximum: number,
    keyIssue: (key: string) => string | undefined,
    readValue: Read<Value>,
  ): (input: unknown, path: string) => Record<string, Value> {
    return (input, path) => {
      const entries = Object.entries(this.#object(input, path) ?? {});
      if (entries.length > maximum) {
        this.issues.add(path, `must have at most ${maximum} entries, not ${entries.length}`);
        return {};
      }
      const result: [string, Value][] = [];
      for (const [key, value] of entries) {
        const entryPath = fieldPath(path, key);
        const issue = keyIssue(key);
        if (issue !== undefined) this.issues.add(entryPath, issue);
        const read = readValue(value, entryPath);
        if (read !== undefined) result.push([key, read]);
      }
      return Object.fromEntries(result);
    };
  }

  #object(input: unknown, path: string): Readonly<Record<string, unknown>> | undefined {
    if (isJsonObject(input)) return input;
    this.issues.add(path, input === undefined ? 'is required' : 'must be an object');
    return undefined;
  }
}

function pathOf(path: string, issue: v.BaseIssue<unknown>): string {
  let result = path;
  for (const item of issue.path ?? []) {
    if (typeof item.key === 'string' || typeof item.key === 'number') result = fieldPath(result, item.key);
  }
  return result;
}
