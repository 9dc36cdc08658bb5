import { canonicalJson } from '../../runtime/canonical-json.ts';
import { DiscoveryDocumentError } from '../forms/parse-document.ts';

/** Levels of schemas within schemas, without those that references lead to. Generated documents have 6. */
const maximumDepth = 64;
const referencePrefix = '#/components/schemas/';

/** Keywords whose value counts as it stands. */
const values = [
  'format',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'maxItems',
  'maxLength',
  'maxProperties',
  'maximum',
  'minItems',
  'minLength',
  'minProperties',
  'minimum',
  'multipleOf',
  'nullable',
  'pattern',
  'uniqueItems',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-int-or-string',
  'x-kubernetes-patch-merge-key',
  'x-kubernetes-preserve-unknown-fields',
] as const;

/** Keywords whose value is a set: one word, or a list in any order. */
const sets = ['enum', 'required', 'type', 'x-kubernetes-list-map-keys'] as const;

/** What a list or map is without the keyword (sigs.k8s.io/structured-merge-diff, k8s.io/kube-openapi pkg/schemaconv). */
const impliedTypes = { 'x-kubernetes-list-type': 'atomic', 'x-kubernetes-map-type': 'granular' } as const;

/**
 * Writes out the structure of one schema of an OpenAPI v3 document, always in the same words: what a server takes,
 * keeps, fills in and merges. Everything else is left out:
 *
 * - descriptions, titles, examples and the order of members, which no server enforces;
 * - `x-kubernetes-group-version-kind`: on types that many kinds share (DeleteOptions, WatchEvent) it lists every group
 *   version of the server, of which another version has others;
 * - `x-kubernetes-unions`, which nothing ever read and newer servers no longer write;
 * - defaults that are the zero value of their type (`{}`, `""`, `0`, `false`): what an API server decodes is that
 *   already where a field is missing. Generators before 1.33 wrote them beside every reference and in every list of
 *   strings, newer ones do not;
 * - `allOf` around a single reference, which is how a reference has a description beside it;
 * - a list type or map type that holds without being named;
 * - `false` where the keyword need not be there, and empty lists and maps;
 * - of validation rules their messages.
 *
 * `required` counts although the servers' own rules decide for built-in types: clients go by it.
 *
 * @param textOf what stands for a referenced definition, by its name in `components.schemas`
 * @throws {DiscoveryDocumentError} when it is no schema
 */
export function schemaStructure(schema: unknown, textOf: (name: string) => string): string {
  return structure(schema, textOf, 0);
}

function structure(schema: unknown, textOf: (name: string) => string, depth: number): string {
  if (depth > maximumDepth) throw faulty('schemas within schemas, deeper than any that is generated');
  const given = objectOf(schema);
  const inner = (value: unknown) => structure(value, textOf, depth + 1);
  const members: [string, string][] = [];
  for (const key of values) {
    const value = given[key];
    if (value !== undefined && value !== false) members.push([key, canonicalJson(value)]);
  }
  for (const key of sets) {
    const texts = sorted(listOf(given[key]).map(canonicalJson));
    if (texts.length > 0) members.push([key, `[${texts}]`]);
  }
  for (const [key, implied] of Object.entries(impliedTypes)) {
    const value = given[key];
    if (value !== undefined && value !== implied) members.push([key, canonicalJson(value)]);
  }
  const { default: defaultValue, items, not, properties, additionalProperties } = given;
  if (!isZero(defaultValue)) members.push(['default', canonicalJson(defaultValue)]);
  if (items !== undefined) members.push(['items', inner(items)]);
  if (not !== undefined) members.push(['not', inner(not)]);
  if (additionalProperties !== undefined) {
    const text = additionalProperties === false ? 'false' : inner(additionalOf(additionalProperties));
    members.push(['additionalProperties', text]);
  }
  const fields = properties === undefined ? [] : Object.entries(objectOf(properties));
  if (fields.length > 0)
    members.push(['properties', object(fields.map(([name, field]) => [name, inner(field)]))]);
  for (const key of ['anyOf', 'oneOf']) {
    const texts = sorted(listOf(given[key]).map(inner));
    if (texts.length > 0) members.push([key, `[${texts}]`]);
  }
  const strategies = given['x-kubernetes-patch-strategy'];
  if (typeof strategies === 'string') {
    members.push([
      'x-kubernetes-patch-strategy',
      `[${sorted(strategies.split(',')).map((each) => JSON.stringify(each))}]`,
    ]);
  }
  const rules = sorted(listOf(given['x-kubernetes-validations']).map(ruleText));
  if (rules.length > 0) members.push(['x-kubernetes-validations', `[${rules}]`]);
  const all = sorted([...referenceOf(given, textOf), ...listOf(given['allOf']).map(inner)]);
  const [only] = all;
  if (only !== undefined && all.length === 1 && members.length === 0) return only;
  if (all.length > 0) members.push(['allOf', `[${all}]`]);
  return object(members);
}

function referenceOf(schema: Readonly<Record<string, unknown>>, textOf: (name: string) => string): string[] {
  const { $ref: reference } = schema;
  if (reference === undefined) return [];
  if (typeof reference !== 'string' || !reference.startsWith(referencePrefix)) {
    throw faulty('a reference that leads out of it');
  }
  return [textOf(reference.slice(referencePrefix.length).replaceAll('~1', '/').replaceAll('~0', '~'))];
}

function ruleText(rule: unknown): string {
  const { rule: expression, fieldPath, optionalOldSelf } = objectOf(rule);
  return canonicalJson({ rule: expression, fieldPath, optionalOldSelf });
}

function isZero(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === null || value === '' || value === 0 || value === false;
}

/** A schema `true` allows the same fields as a schema without members. */
function additionalOf(value: unknown): unknown {
  return value === true ? {} : value;
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function sorted(texts: readonly string[]): string[] {
  return [...new Set(texts)].sort();
}

function object(members: readonly (readonly [string, string])[]): string {
  const texts = members.map(([key, text]) => `${JSON.stringify(key)}:${text}`);
  return `{${texts.sort()}}`;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw faulty('something that is no schema where one is to be');
  }
  return Object.fromEntries(Object.entries(value));
}

function faulty(what: string): DiscoveryDocumentError {
  return new DiscoveryDocumentError(
    'InvalidDocument',
    `This OpenAPI v3 document is broken: it holds ${what}.`,
  );
}
