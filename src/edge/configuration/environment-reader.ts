import * as v from 'valibot';
import { type DocumentIssue, parseJsonText } from '../../runtime/validation.ts';
import { WorkerConfigurationError } from './configuration.ts';

/** Far above a JWKS, the deepest variable. */
const maximumDepth = 32;

// Schemas of variables. No message quotes a value, which may be a key.

export const text = v.string('must be text');

/** The value itself, or its text. */
export const json = v.pipe(
  v.unknown(),
  v.rawTransform(({ dataset, addIssue, NEVER }): unknown => {
    if (typeof dataset.value !== 'string') return dataset.value;
    const parsed = parseJsonText(dataset.value, maximumDepth);
    if (parsed.ok) return parsed.value;
    addIssue({ message: `must be JSON, nested no deeper than ${maximumDepth} levels` });
    return NEVER;
  }),
);
export const jsonText = v.pipe(
  json,
  v.transform((value) => JSON.stringify(value)),
);
export const flag = v.pipe(json, v.boolean('must be true or false'));

/** A binding, recognized by the methods that are used here: one responds to any property as a proxy of a remote object. */
export function binding<Binding extends object>(...methods: readonly (keyof Binding & string)[]) {
  return v.custom<Binding>(
    (value) =>
      typeof value === 'object' &&
      value !== null &&
      methods.every((method) => typeof Reflect.get(value, method) === 'function'),
    `must be a binding with ${methods.join(' and ')}, not a variable`,
  );
}

/** Collects what is wrong with variables. */
export class EnvironmentReader {
  readonly #given: Readonly<Record<string, unknown>>;
  readonly #issues: DocumentIssue[] = [];

  constructor(environment: object) {
    this.#given = { ...environment };
  }

  issue(name: string, message: string): undefined {
    this.#issues.push({ path: name, message });
  }

  throwIssues(): void {
    if (this.#issues.length > 0) throw new WorkerConfigurationError(this.#issues);
  }

  /** An empty text counts as left out: a variable cannot be unset in an environment of wrangler, only emptied. */
  has(name: string): boolean {
    return (this.#given[name] ?? '') !== '';
  }

  /** @returns `undefined` where it is left out, and where it is wrong: then there is an error as well */
  read<Schema extends v.GenericSchema>(name: string, schema: Schema): v.InferOutput<Schema> | undefined {
    if (!this.has(name)) return undefined;
    const result = v.safeParse(schema, this.#given[name], { abortEarly: true });
    return result.success ? result.output : this.issue(name, result.issues[0].message);
  }

  required<Schema extends v.GenericSchema>(
    name: string,
    what: string,
    schema: Schema,
  ): v.InferOutput<Schema> | undefined {
    return this.has(name) ? this.read(name, schema) : this.issue(name, `is required: ${what}`);
  }
}
