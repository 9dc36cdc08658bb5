import * as v from 'valibot';
import { fieldPath, type IssueList } from './issues.ts';
import { isJsonObject } from './schema-parts.ts';

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

  /** The items that `readItem` could read, each with its place in the input. */
  list<Item>(
    input: unknown,
    path: string,
    maximum: number,
    readItem: (item: unknown, path: string) => Item | undefined,
  ): { readonly item: Item; readonly path: string }[] {
    if (!Array.isArray(input)) {
      this.issues.add(path, input === undefined ? 'is required' : 'must be an array');
      return [];
    }
    if (input.length > maximum) {
      this.issues.add(path, `must have at most ${maximum} items, not ${input.length}`);
      return [];
    }
    return input.flatMap((value: unknown, index) => {
      const itemPath = fieldPath(path, index);
      const item = readItem(value, itemPath);
      return item === undefined ? [] : [{ item, path: itemPath }];
    });
  }

  /** The entries of a map that `readValue` could read, under keys that `keyIssue` finds nothing wrong with. */
  map<Value>(
    input: unknown,
    path: string,
    maximum: number,
    keyIssue: (key: string) => string | undefined,
    readValue: (value: unknown, path: string) => Value | undefined,
  ): Map<string, Value> {
    const entries = Object.entries(this.#object(input, path) ?? {});
    const result = new Map<string, Value>();
    if (entries.length > maximum) {
      this.issues.add(path, `must have at most ${maximum} entries, not ${entries.length}`);
      return result;
    }
    for (const [key, value] of entries) {
      const entryPath = fieldPath(path, key);
      const issue = keyIssue(key);
      if (issue !== undefined) this.issues.add(entryPath, issue);
      const read = readValue(value, entryPath);
      if (read !== undefined) result.set(key, read);
    }
    return result;
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
