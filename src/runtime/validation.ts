import * as v from 'valibot';

/** Errors of a document that are reported one by one; of the rest, the number. */
const maximumIssues = 100;

/** One error in a document: its path, and what to change. */
export interface DocumentIssue {
  /** For example `servers[3].address`; empty for the document as a whole. */
  readonly path: string;
  readonly message: string;
}

/** The first errors are kept; the rest is counted: a document of a million errors costs a number. */
export class IssueList {
  readonly #kept: DocumentIssue[] = [];
  #omitted = 0;

  add(path: string, message: string): void {
    if (this.#kept.length < maximumIssues) this.#kept.push({ path, message });
    else this.#omitted++;
  }

  get count(): number {
    return this.#kept.length + this.#omitted;
  }

  toArray(): DocumentIssue[] {
    if (this.#omitted === 0) return [...this.#kept];
    return [...this.#kept, { path: '', message: `${this.#omitted} more errors are not listed` }];
  }
}

/** @returns the schema of a text that is JSON of this shape */
export function fromJson<const Schema extends v.GenericSchema>(schema: Schema) {
  return v.pipe(v.string(), v.parseJson(), schema);
}

/** `path.key`, `path["a b"]` or `path[3]`. */
export function fieldPath(path: string, key: string | number): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  if (!/^[A-Za-z_]\w*$/.test(key)) return `${path}[${quoted(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

export function quoted(text: string): string {
  const limit = 80;
  return JSON.stringify(text.length > limit ? `${text.slice(0, limit)}…` : text);
}

/** `servers[3].address: …; servers[4].id: …`, the first few of `issues` in one line. */
export function describeIssues(issues: readonly DocumentIssue[]): string {
  const shown = issues
    .slice(0, 3)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  const hidden = issues.length - shown.length;
  return `${shown.join('; ')}${hidden > 0 ? `; and ${hidden} more` : ''}`;
}

/** One issue of the file `where`: `policy.yaml: rules[0].level must be …`. */
export function describeIssueOf(where: string, { path, message }: DocumentIssue): string {
  return path === '' ? `${where} ${message}` : `${where}: ${path} ${message}`;
}

export type JsonTextResult =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issue: DocumentIssue };

/**
 * Parses JSON that may be hostile: nesting is bounded before `JSON.parse` sees the text, in one pass, so
 * that no text can use up the stack of anything that walks the result.
 */
export function parseJsonText(text: string, maximumDepth: number): JsonTextResult {
  if (isNestedDeeperThan(text, maximumDepth)) {
    return issue(`is nested deeper than ${maximumDepth} levels`);
  }
  try {
    return { ok: true, value: JSON.parse(text) as unknown };
  } catch (error) {
    // The engine's own words: they name the place, and quote a few characters at most.
    return issue(`is not JSON: ${error instanceof Error ? error.message : 'it cannot be parsed'}`);
  }
}

const quote = 0x22;
const backslash = 0x5c;

/** Linear, looks at each character once or twice. Counts brackets outside strings; malformed text may count either way. */
function isNestedDeeperThan(text: string, maximumDepth: number): boolean {
  let depth = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code === quote) {
      index = endOfString(text, index);
    } else if (code === 0x7b || code === 0x5b) {
      if (++depth > maximumDepth) return true;
    } else if (code === 0x7d || code === 0x5d) {
      depth--;
    }
  }
  return false;
}

/** @returns where its closing quote is, before which backslashes stand in pairs; the end of the text if there is none */
export function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return end;
  }
  return text.length;
}

function issue(message: string): JsonTextResult {
  return { ok: false, issue: { path: '', message } };
}

/** True if a value of `JSON.parse` is an object, which arrays and `null` are not. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// The vocabulary of schemas. Every message is a predicate (`must be …`), which follows the path.

/** `must be <expected>, not <actual>`; `is required` for a missing value. */
export function expected(what: string): (issue: { readonly input: unknown }) => string {
  return ({ input }) => (input === undefined ? 'is required' : `must be ${what}, not ${describe(input)}`);
}

function describe(input: unknown): string {
  if (typeof input === 'string') return quoted(input);
  if (typeof input === 'number' || typeof input === 'boolean') return String(input);
  if (input === null) return 'null';
  if (Array.isArray(input)) return 'an array';
  return typeof input === 'object' ? 'an object' : `a ${typeof input}`;
}

/** An object of any members. valibot takes an array for one. */
export const jsonObject = v.custom<Readonly<Record<string, unknown>>>(isJsonObject, expected('an object'));

export function strict<Entries extends v.ObjectEntries>(entries: Entries) {
  const message = (issue: v.StrictObjectIssue): string => {
    const item = issue.path?.[0];
    if (item === undefined) return expected('an object')(issue);
    // The first of several unknown members is reported by valibot: the message names the others.
    if (issue.expected !== 'never' || !isJsonObject(item.input)) return 'is required';
    const others = Object.keys(item.input).filter((key) => key !== item.key && !Object.hasOwn(entries, key));
    const named = others.slice(0, 10).map(quoted).join(', ');
    return `is not a field of this object${others.length === 0 ? '' : `; nor is any of ${named}`}`;
  };
  return v.pipe(jsonObject, v.strictObject(entries, message));
}

/** At most `maximum` items; a longer array is refused before its items are checked. */
export function listOf<Item extends v.GenericSchema>(item: Item, maximum: number) {
  return v.pipe(
    v.custom<readonly unknown[]>(Array.isArray, expected('an array')),
    v.check((items) => items.length <= maximum, `must have at most ${maximum} items`),
    v.array(item),
  );
}

export function textThat(holds: (value: string) => boolean, what: string) {
  return v.pipe(v.string(expected(what)), v.check(holds, expected(what)));
}

export const boolean = v.boolean(expected('true or false'));

export function wholeNumber(minimum: number, maximum: number) {
  const what = `a whole number between ${minimum} and ${maximum}`;
  return v.pipe(
    v.number(expected(what)),
    v.check((value) => Number.isSafeInteger(value) && value >= minimum && value <= maximum, expected(what)),
  );
}

export function readValue<Schema extends v.GenericSchema>(
  schema: Schema,
  input: unknown,
  path: string,
  issues: IssueList,
): v.InferOutput<Schema> | undefined {
  const result = v.safeParse(schema, input);
  if (result.success) return result.output;
  for (const issue of result.issues) issues.add(pathOf(path, issue), issue.message);
  return undefined;
}

export function pathOf(path: string, issue: v.BaseIssue<unknown>): string {
  let result = path;
  for (const item of issue.path ?? []) {
    if (typeof item.key === 'string' || typeof item.key === 'number') result = fieldPath(result, item.key);
  }
  return result;
}
