import * as v from 'valibot';
import { eightByteHash } from '../../apimachinery/storage-version-hash.ts';
import { sha256Digest } from '../../runtime/sha256.ts';
import { createTimeSlice, type TimeSlice } from '../../runtime/time-slice.ts';
import { DiscoveryDocumentError, parseWith, recordField } from '../forms/parse-document.ts';
import { schemaStructure } from './schema-structure.ts';

/** Definitions of one document; the largest one of Kubernetes 1.36 (`api/v1`) has 272. */
const maximumDefinitions = 10_000;
/** Definitions that refer to each other in a circle; JSONSchemaProps, which refers to itself, is the only real one. */
const maximumCircle = 64;

const openApiDocument = v.object({
  openapi: v.pipe(v.string(), v.startsWith('3.')),
  components: v.object({ schemas: recordField(v.unknown()) }),
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
 * Each definition is digested once, however many refer to it, and others can run in between.
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
    throw new DiscoveryDocumentError(
      'NotTheDocument',
      `This OpenAPI document has no kind of ${group}/${version}.`,
    );
  }
  const digests = await digestsOf(definitions, [...kinds.values()], known, createTimeSlice());
  const byKind = new Map<string, string>();
  for (const [kind, name] of kinds) {
    const digest = digests.get(name);
    if (digest !== undefined) byKind.set(kind, await eightByteHash(digest));
  }
  return byKind;
}

function definitionsOf(document: unknown): ReadonlyMap<string, unknown> {
  const refusal = 'This is no OpenAPI v3 document:';
  const { components } = parseWith(openApiDocument, document, 'NotTheDocument', refusal);
  const definitions = new Map(Object.entries(components.schemas));
  if (definitions.size > maximumDefinitions) {
    throw new DiscoveryDocumentError(
      'InvalidDocument',
      `This OpenAPI document has ${definitions.size} definitions.`,
    );
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

/** @returns by name, for every schema that the roots lead to */
async function digestsOf(
  definitions: ReadonlyMap<string, unknown>,
  roots: readonly string[],
  known: Map<string, string>,
  slice: TimeSlice,
): Promise<ReadonlyMap<string, string>> {
  const references = await referencesOf(definitions, roots, slice);
  const digests = new Map<string, string>();
  for (const group of definitionGroups(references, roots)) {
    if (group.length > maximumCircle) {
      throw new DiscoveryDocumentError(
        'InvalidDocument',
        'This OpenAPI document refers to itself too widely.',
      );
    }
    // Those of a circle begin alike, and see one definition further in each pass: after as many passes as there are,
    // those that differ anywhere have different digests. One that refers to no other of its group takes one.
    const names = new Set(group);
    for (const _pass of group) {
      const before = new Map(group.map((name) => [name, digests.get(name) ?? '']));
      for (const name of group) {
        const text = schemaStructure(definitions.get(name), (referenced) =>
          JSON.stringify(`#${names.has(referenced) ? before.get(referenced) : digests.get(referenced)}`),
        );
        const digest = known.get(text) ?? (await sha256Digest(new TextEncoder().encode(text)));
        if (text.length <= longestKnown && known.size < maximumKnown) known.set(text, digest);
        digests.set(name, digest);
        await slice.rest();
      }
    }
  }
  return digests;
}

/** Of every definition that the roots lead to, those that it refers to. */
async function referencesOf(
  definitions: ReadonlyMap<string, unknown>,
  roots: readonly string[],
  slice: TimeSlice,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const references = new Map<string, Set<string>>();
  const waiting = [...roots];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    if (references.has(name)) continue;
    if (!definitions.has(name)) {
      throw new DiscoveryDocumentError(
        'InvalidDocument',
        'This OpenAPI document refers to what is not in it.',
      );
    }
    const found = new Set<string>();
    schemaStructure(definitions.get(name), (referenced) => {
      found.add(referenced);
      return '';
    });
    references.set(name, found);
    waiting.push(...found);
    await slice.rest();
  }
  return references;
}

interface Visit {
  readonly name: string;
  readonly number: number;
  /** The earliest definition, still open, that it leads back to. */
  lowest: number;
  readonly left: Iterator<string>;
}

/**
 * The definitions that the roots lead to, in groups: those of a group refer to each other in a circle, and most are alone
 * in theirs. A group comes after those that it refers to (R. E. Tarjan, "Depth-first search and linear graph
 * algorithms", 1972; with a stack of its own, so that a long chain does not use up the runtime's).
 *
 * @param references of each definition those that it refers to, all of them keys as well
 */
function definitionGroups(
  references: ReadonlyMap<string, ReadonlySet<string>>,
  roots: readonly string[],
): readonly (readonly string[])[] {
  const groups: string[][] = [];
  const numbers = new Map<string, number>();
  /** Visited, and in no group yet. */
  const open: string[] = [];
  const isOpen = new Set<string>();

  function enter(name: string): Visit {
    const number = numbers.size;
    numbers.set(name, number);
    open.push(name);
    isOpen.add(name);
    return { name, number, lowest: number, left: (references.get(name) ?? new Set<string>()).values() };
  }

  function close({ name, number, lowest }: Visit): void {
    if (lowest < number) return;
    const group = open.splice(open.lastIndexOf(name));
    for (const member of group) isOpen.delete(member);
    groups.push(group);
  }

  for (const root of roots) {
    if (numbers.has(root)) continue;
    const way = [enter(root)];
    for (let visit = way.at(-1); visit !== undefined; visit = way.at(-1)) {
      const { value: next, done } = visit.left.next();
      if (done === true) {
        way.pop();
        close(visit);
        const from = way.at(-1);
        if (from !== undefined) from.lowest = Math.min(from.lowest, visit.lowest);
      } else if (!numbers.has(next)) way.push(enter(next));
      else if (isOpen.has(next)) visit.lowest = Math.min(visit.lowest, numbers.get(next) ?? visit.lowest);
    }
  }
  return groups;
}
