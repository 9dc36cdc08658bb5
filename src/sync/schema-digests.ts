import * as v from 'valibot';
import { eightByteHash } from '../apimachinery/storage-version-hash.ts';
import { DiscoveryDocumentError, parseWith } from '../discovery/forms/parse-document.ts';
import { sha256Digest } from '../runtime/bytes.ts';
import { canonicalJson } from '../runtime/canonical-json.ts';
import { createTimeSlice, type TimeSlice } from '../runtime/time.ts';
import { jsonObject } from '../runtime/validation.ts';

/** Definitions of one document; the largest one of Kubernetes 1.36 (`api/v1`) has 272. */
const maximumDefinitions = 10_000;
/** Each definition is visited once, and one of a circle on each way to it: JSONSchemaProps is the only real one. */
const maximumVisits = 2 * maximumDefinitions;

const openApiDocument = v.object({
  openapi: v.pipe(v.string(), v.startsWith('3.')),
  components: v.object({ schemas: jsonObject }),
});
const describedKind = v.object({
  'x-kubernetes-group-version-kind': v.array(
    v.object({ group: v.string(), version: v.string(), kind: v.string() }),
  ),
});

/**
 * Digests of the kinds of one group version, by kind: the first eight bytes, in base64, of a SHA-256 over what
 * `schemaStructure` says of the kind and of everything that it refers to. Equal digests, equal fields, types, defaults
 * and rules, independent of the definitions' names, documents and versions.
 *
 * Each definition outside of circles is digested once, however many refer to it, and others can run in between.
 *
 * @param document parsed JSON of unknown origin: the response to `/openapi/v3/apis/<group>/<version>`
 * @param group empty for the legacy group
 * @param known digests by what they are of, of other documents; these are added. Documents share half of their definitions
 *   with others of their version, and nearly all with those of the next
 * @throws {DiscoveryDocumentError} when it is no such document, or none of this group version
 */
export async function schemaDigests(
  document: unknown,
  group: string,
  version: string,
  known: Map<string, string> = new Map(),
): Promise<ReadonlyMap<string, string>> {
  const definitions = definitionsOf(document);
  const kinds = kindsOf(definitions, group, version);
  if (kinds.size === 0) {
    throw new DiscoveryDocumentError(`This OpenAPI document has no kind of ${group}/${version}.`);
  }
  const digestOf = digestsOf(definitions, known, createTimeSlice());
  const byKind = new Map<string, string>();
  for (const [kind, name] of kinds) byKind.set(kind, await eightByteHash(await digestOf(name)));
  return byKind;
}

function definitionsOf(document: unknown): ReadonlyMap<string, unknown> {
  const refusal = 'This is no OpenAPI v3 document:';
  const { components } = parseWith(openApiDocument, document, refusal);
  const definitions = new Map(Object.entries(components.schemas));
  if (definitions.size > maximumDefinitions) {
    throw faulty(`${definitions.size} definitions`);
  }
  return definitions;
}

/** Kind to the name of its definition. Two definitions of one kind leave open which of them counts. */
function kindsOf(
  definitions: ReadonlyMap<string, unknown>,
  group: string,
  version: string,
): ReadonlyMap<string, string> {
  const kinds = new Map<string, string>();
  const ambiguous = new Set<string>();
  for (const [name, definition] of definitions) {
    if (!v.is(describedKind, definition)) continue;
    for (const each of definition['x-kubernetes-group-version-kind']) {
      if (each.group !== group || each.version !== version) continue;
      if (kinds.has(each.kind)) ambiguous.add(each.kind);
      kinds.set(each.kind, name);
    }
  }
  for (const kind of ambiguous) kinds.delete(kind);
  return kinds;
}

/** Definitions that are remembered: those of two versions of Kubernetes. Custom resources share none. */
const maximumKnown = 4_000;
/** In characters; longer ones are few. */
const longestKnown = 4_096;

function digestsOf(
  definitions: ReadonlyMap<string, unknown>,
  known: Map<string, string>,
  slice: TimeSlice,
): (name: string) => Promise<string> {
  const digests = new Map<string, string>();
  /** The definitions that led to the one that is looked at, each with its number. */
  const way = new Map<string, number>();
  let visits = 0;

  /** With what is referred to by their digests; what leads back to a definition of the way, by the steps back to that one. */
  async function visit(name: string): Promise<{ readonly digest: string; readonly backTo: number }> {
    // Always waits, so that a long chain does not use up the stack.
    await slice.rest();
    const number = way.get(name);
    if (number !== undefined) return { digest: `^${way.size - number}`, backTo: number };
    const ready = digests.get(name);
    if (ready !== undefined) return { digest: ready, backTo: Number.POSITIVE_INFINITY };
    if (!definitions.has(name)) throw faulty('a reference to what is not in it');
    if (++visits > maximumVisits) throw faulty('definitions that refer to each other too widely');
    const own = way.size;
    way.set(name, own);
    const references = new Map<string, string>();
    let backTo = Number.POSITIVE_INFINITY;
    for (const each of referencesOf(definitions.get(name))) {
      const referenced = await visit(each);
      references.set(each, referenced.digest);
      backTo = Math.min(backTo, referenced.backTo);
    }
    way.delete(name);
    const text = schemaStructure(definitions.get(name), (each) => JSON.stringify(`#${references.get(each)}`));
    const digest = known.get(text) ?? (await sha256Digest(new TextEncoder().encode(text)));
    if (text.length <= longestKnown && known.size < maximumKnown) known.set(text, digest);
    // One of a circle has another digest on another way.
    if (backTo > own) digests.set(name, digest);
    return { digest, backTo: backTo < own ? backTo : Number.POSITIVE_INFINITY };
  }
  return async (name) => (await visit(name)).digest;
}

function referencesOf(definition: unknown): ReadonlySet<string> {
  const found = new Set<string>();
  schemaStructure(definition, (referenced) => {
    found.add(referenced);
    return '';
  });
  return found;
}

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
function schemaStructure(schema: unknown, textOf: (name: string) => string, depth = 0): string {
  if (depth > maximumDepth) throw faulty('schemas within schemas, deeper than any that is generated');
  const given = objectOf(schema);
  const inner = (value: unknown) => schemaStructure(value, textOf, depth + 1);
  const members: [string, string][] = [];
  const addSet = (key: string, items: readonly unknown[], textOfItem: (item: unknown) => string) => {
    const texts = sorted(items.map(textOfItem));
    if (texts.length > 0) members.push([key, `[${texts}]`]);
  };
  for (const key of values) {
    const value = given[key];
    if (value !== undefined && value !== false) members.push([key, canonicalJson(value)]);
  }
  for (const key of sets) addSet(key, listOf(given[key]), canonicalJson);
  for (const [key, implied] of Object.entries(impliedTypes)) {
    const value = given[key];
    if (value !== undefined && value !== implied) members.push([key, canonicalJson(value)]);
  }
  const { default: defaultValue, items, not, properties, additionalProperties } = given;
  if (!isZero(defaultValue)) members.push(['default', canonicalJson(defaultValue)]);
  if (items !== undefined) members.push(['items', inner(items)]);
  if (not !== undefined) members.push(['not', inner(not)]);
  if (additionalProperties !== undefined) {
    // A schema `true` allows the same fields as a schema without members.
    const allowed = additionalProperties === true ? {} : additionalProperties;
    const text = allowed === false ? 'false' : inner(allowed);
    members.push(['additionalProperties', text]);
  }
  const fields = properties === undefined ? [] : Object.entries(objectOf(properties));
  if (fields.length > 0)
    members.push(['properties', object(fields.map(([name, field]) => [name, inner(field)]))]);
  for (const key of ['anyOf', 'oneOf']) addSet(key, listOf(given[key]), inner);
  const strategies = given['x-kubernetes-patch-strategy'];
  if (typeof strategies === 'string')
    addSet('x-kubernetes-patch-strategy', strategies.split(','), canonicalJson);
  addSet('x-kubernetes-validations', listOf(given['x-kubernetes-validations']), ruleText);
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
  return new DiscoveryDocumentError(`This OpenAPI v3 document is broken: it holds ${what}.`);
}
