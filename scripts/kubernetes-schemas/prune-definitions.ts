import * as v from 'valibot';

/** Schemas by name, with references as `#/definitions/<name>`. */
export type Definitions = Readonly<Record<string, JsonSchema>>;

/** A type in the OpenAPI v2 document of a kube-apiserver, as far as it is used to check manifests. */
export interface JsonSchema {
  readonly $ref?: string | undefined;
  readonly type?: string | undefined;
  readonly format?: string | undefined;
  readonly required?: readonly string[] | undefined;
  readonly properties?: Readonly<Record<string, JsonSchema>> | undefined;
  readonly additionalProperties?: JsonSchema | undefined;
  readonly items?: JsonSchema | undefined;
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[] | undefined;
}

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

// Fields that are not named here, descriptions above all, are left out of what is recorded.
const schema: v.GenericSchema<unknown, JsonSchema> = v.object({
  $ref: v.optional(v.string()),
  type: v.optional(v.string()),
  format: v.optional(v.string()),
  required: v.optional(v.array(v.string())),
  properties: v.optional(
    v.record(
      v.string(),
      v.lazy(() => schema),
    ),
  ),
  additionalProperties: v.optional(v.lazy(() => schema)),
  items: v.optional(v.lazy(() => schema)),
  'x-kubernetes-group-version-kind': v.optional(
    v.array(v.object({ group: v.string(), version: v.string(), kind: v.string() })),
  ),
});

export const definitionsSchema: v.GenericSchema<unknown, { readonly definitions: Definitions }> = v.object({
  definitions: v.record(v.string(), schema),
});

const referencePrefix = '#/definitions/';

/** The definition that a reference names. */
export function definitionName(reference: string): string {
  return reference.slice(referencePrefix.length);
}

/** The definition of a kind. */
export function definitionOf(definitions: Definitions, wanted: GroupVersionKind): JsonSchema | undefined {
  return Object.values(definitions).find((definition) =>
    definition['x-kubernetes-group-version-kind']?.some(
      ({ group, version, kind }) =>
        group === wanted.group && version === wanted.version && kind === wanted.kind,
    ),
  );
}

/** The kinds and every type that they are made of, by name in order; nothing else. Pure. @throws Error for a kind that is not there */
export function pruneDefinitions(definitions: Definitions, kinds: readonly GroupVersionKind[]): Definitions {
  const kept = new Map<string, JsonSchema>();
  const keep = (found: JsonSchema): void => {
    const { $ref, properties = {}, additionalProperties, items } = found;
    if ($ref !== undefined) keepNamed(definitionName($ref));
    for (const part of [...Object.values(properties), additionalProperties, items]) {
      if (part !== undefined) keep(part);
    }
  };
  const keepNamed = (name: string): void => {
    if (kept.has(name)) return;
    const found = definitions[name];
    if (found === undefined) throw new Error(`there is no definition ${name}`);
    kept.set(name, found);
    keep(found);
  };
  for (const wanted of kinds) {
    const found = definitionOf(definitions, wanted);
    const [name] = Object.entries(definitions).find(([, definition]) => definition === found) ?? [];
    if (name === undefined)
      throw new Error(`there is no ${wanted.kind} of ${wanted.group}/${wanted.version}`);
    keepNamed(name);
  }
  return Object.fromEntries([...kept].sort(([left], [right]) => (left < right ? -1 : 1)));
}
