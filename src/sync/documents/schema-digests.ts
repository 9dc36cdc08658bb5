import * as v from 'valibot';
import { DiscoveryDocumentError, parseWith } from '../../discovery/forms/parse-document.ts';
import { sha256Digest } from '../../runtime/bytes.ts';
import { canonicalJson } from '../../runtime/canonical-json.ts';
import { createTimeSlice, type TimeSlice } from '../../runtime/time.ts';
import { jsonObject } from '../../runtime/validation.ts';

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
 * and rules, independent of documents, versions and the definitions' names. (Several references in one list are in the order
 * of their names; no generated document has such a list.)
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
  slice: TimeSlice = createTimeSlice(),
): Promise<ReadonlyMap<string, string>> {
  const definitions = definitionsOf(document);
  const kinds = kindsOf(definitions, group, version);
  if (kinds.size === 0) {
    throw new DiscoveryDocumentError(`This OpenAPI document has no kind of ${group}/${version}.`);
  }
  const digestOf = digestsOf(definitions, known, slice);
  const byKind = new Map<string, string>();
  for (const [kind, name] of kinds) byKind.set(kind, shortDigest(await digestOf(name)));
  return byKind;
}

function shortDigest(digest: string): string {
  return Uint8Array.fromHex(digest.slice('sha256:'.length, 'sha256:'.length + 16)).toBase64();
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
    const parts = schemaStructure(definitions.get(name)).split(referenceMark);
    let backTo = Number.POSITIVE_INFINITY;
    for (let index = 1; index < parts.length; index += 2) {
      const referenced = await visit(parts[index] ?? '');
      parts[index] = JSON.stringify(`#${referenced.digest}`);
      backTo = Math.min(backTo, referenced.backTo);
    }
    way.delete(name);
    const text = parts.join('');
    const digest = known.get(text) ?? (await sha256Digest(new TextEncoder().encode(text)));
    if (text.length <= longestKnown && known.size < maximumKnown) known.set(text, digest);
    // One of a circle has another digest on another way.
    if (backTo > own) digests.set(name, digest);
    return { digest, backTo: backTo < own ? backTo : Number.POSITIVE_INFINITY };
  }
  return async (name) => (await visit(name)).digest;
}

/** Levels of schemas within schemas, without those that references lead to. Generated documents have 6. */
const maximumDepth = 64;
const referencePrefix = '#/components/schemas/';

/** Stands around the name of a referenced definition. JSON has no such character as it stands, and a name with one leads nowhere. */
const referenceMark = '\u0001';

/** Keywords whose value counts as it stands. */
const values = new Set([
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
]);

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
 * A referenced definition stands as its name in `components.schemas`, between two `referenceMark`.
 * @throws {DiscoveryDocumentError} when it is no schema
 */
function schemaStructure(schema: unknown, depth = 0): string {
  if (depth > maximumDepth) throw faulty('schemas within schemas, deeper than any that is generated');
  const inner = (value: unknown) => schemaStructure(value, depth + 1);
  const members: [string, string][] = [];
  const all: string[] = [];
  for (const [key, value] of entriesOf(schema)) {
    if (key === '$ref') all.push(reference(value));
    else if (key === 'allOf') all.push(...listOf(value).map(inner));
    else {
      const text = keywordText(key, value, inner);
      if (text !== undefined) members.push([key, text]);
    }
  }
  const [only] = all;
  if (only !== undefined && members.length === 0 && all.every((each) => each === only)) return only;
  const together = setText(all);
  return object(together === undefined ? members : [...members, ['allOf', together]]);
}

/** @param inner of a schema within this one @returns `undefined`: what it says does not count */
function keywordText(key: string, value: unknown, inner: (schema: unknown) => string): string | undefined {
  if (values.has(key)) return value === undefined || value === false ? undefined : canonicalJson(value);
  switch (key) {
    // One word, or a list in any order.
    case 'enum':
    case 'required':
    case 'type':
    case 'x-kubernetes-list-map-keys':
      return setText(listOf(value).map(canonicalJson));
    // Default for lists and maps (sigs.k8s.io/structured-merge-diff, k8s.io/kube-openapi pkg/schemaconv).
    case 'x-kubernetes-list-type':
      return value === 'atomic' ? undefined : canonicalJson(value);
    case 'x-kubernetes-map-type':
      return value === 'granular' ? undefined : canonicalJson(value);
    case 'default':
      return isZero(value) ? undefined : canonicalJson(value);
    case 'items':
    case 'not':
      return inner(value);
    case 'additionalProperties':
      // A schema `true` allows the same fields as a schema without members.
      return value === false ? 'false' : inner(value === true ? {} : value);
    case 'properties': {
      const fields = entriesOf(value).map(([name, field]) => [name, inner(field)] as const);
      return fields.length > 0 ? object(fields) : undefined;
    }
    case 'anyOf':
    case 'oneOf':
      return setText(listOf(value).map(inner));
    case 'x-kubernetes-patch-strategy':
      return typeof value === 'string' ? setText(value.split(',').map(canonicalJson)) : undefined;
    case 'x-kubernetes-validations':
      return setText(listOf(value).map(ruleText));
    default:
      return undefined;
  }
}

/** @returns `undefined` of none */
function setText(texts: readonly string[]): string | undefined {
  return texts.length === 0 ? undefined : `[${sorted(texts)}]`;
}

function reference(value: unknown): string {
  if (typeof value !== 'string' || !value.startsWith(referencePrefix)) {
    throw faulty('a reference that leads out of it');
  }
  const name = value.slice(referencePrefix.length).replaceAll('~1', '/').replaceAll('~0', '~');
  return `${referenceMark}${name.replaceAll(referenceMark, '')}${referenceMark}`;
}

function ruleText(rule: unknown): string {
  const { rule: expression, fieldPath, optionalOldSelf } = Object.fromEntries(entriesOf(rule));
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

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw faulty('something that is no schema where one is to be');
  }
  return Object.entries(value);
}

function faulty(what: string): DiscoveryDocumentError {
  return new DiscoveryDocumentError(`This OpenAPI v3 document is broken: it holds ${what}.`);
}
