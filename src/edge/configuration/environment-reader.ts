import { type DocumentIssue, parseJsonText } from '../../runtime/validation.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/addresses.ts';
import { WorkerConfigurationError } from './configuration.ts';

/** Far above a JWKS, the deepest variable. */
const maximumDepth = 32;

/**
 * Collects what is wrong with variables. A method returns `undefined` where a variable is left out, and where it is wrong: then
 * there is an error as well.
 */
export class EnvironmentReader {
  readonly #environment: Readonly<Record<string, unknown>>;
  readonly #issues: DocumentIssue[] = [];

  constructor(environment: object) {
    this.#environment = { ...environment };
  }

  issue(name: string, message: string): void {
    this.#issues.push({ path: name, message });
  }

  throwIssues(): void {
    if (this.#issues.length > 0) throw new WorkerConfigurationError(this.#issues);
  }

  /** An empty text counts as left out: a variable cannot be unset in an environment of wrangler, only emptied. */
  has(name: string): boolean {
    const value = this.#environment[name];
    return value !== undefined && value !== null && value !== '';
  }

  text(name: string): string | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#environment[name];
    if (typeof value === 'string') return value;
    this.issue(name, 'must be text');
    return undefined;
  }

  requiredText(name: string, what: string): string | undefined {
    if (!this.has(name)) {
      this.issue(name, `is required: ${what}`);
      return undefined;
    }
    return this.text(name);
  }

  choice<Choice extends string>(name: string, choices: readonly Choice[]): Choice | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const chosen = choices.find((choice) => choice === text);
    if (chosen === undefined) this.issue(name, `must be one of ${choices.join(', ')}`);
    return chosen;
  }

  /** `https://host:port`, and nothing after it. */
  httpsOrigin(name: string, what: string): string | undefined {
    const text = this.requiredText(name, what);
    if (text === undefined) return undefined;
    const parsed = parseHttpsOrigin(text);
    // Written as URL parsers write it: `https://name:443` is `https://name`.
    if (parsed.ok) return new URL(text).origin;
    this.issue(name, parsed.message);
    return undefined;
  }

  json(name: string): unknown {
    if (!this.has(name)) return undefined;
    const value = this.#environment[name];
    if (typeof value !== 'string') return value;
    const parsed = parseJsonText(value, maximumDepth);
    if (parsed.ok) return parsed.value;
    // The engine's own words quote some of the text, which may be a key.
    this.issue(name, `must be JSON, nested no deeper than ${maximumDepth} levels`);
    return undefined;
  }

  jsonText(name: string): string | undefined {
    const value = this.json(name);
    return value === undefined ? undefined : JSON.stringify(value);
  }

  /** The items of a JSON array. */
  list<Item>(name: string, isItem: (item: unknown) => item is Item, what: string): Item[] | undefined {
    const value = this.json(name);
    if (value === undefined || (Array.isArray(value) && value.every(isItem))) return value;
    this.issue(name, `must be a JSON array of ${what}`);
    return undefined;
  }

  boolean(name: string): boolean | undefined {
    const value = this.json(name);
    if (value === undefined || typeof value === 'boolean') return value;
    this.issue(name, 'must be true or false');
    return undefined;
  }

  /** A binding, recognized by the methods that are used here. */
  binding<Binding extends object>(
    name: string,
    methods: readonly (keyof Binding & string)[],
  ): Binding | undefined {
    if (!this.has(name)) return undefined;
    const value = this.#environment[name];
    // Bindings respond to any property as proxies of remote objects: only whether it can be called says anything.
    const isBinding =
      typeof value === 'object' &&
      value !== null &&
      methods.every((method) => typeof Reflect.get(value, method) === 'function');
    if (isBinding) return value as Binding;
    this.issue(name, `must be a binding with ${methods.join(' and ')}, not a variable`);
    return undefined;
  }
}
