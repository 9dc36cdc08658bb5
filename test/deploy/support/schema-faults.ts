import {
  type Definitions,
  definitionName,
  definitionOf,
  type JsonSchema,
} from '../../../scripts/kubernetes-schemas/prune-definitions.ts';
import type { KubernetesObject } from './manifests.ts';

/**
 * What the schema of its kind says against an object, a line for each fault with its path: fields that do not exist,
 * fields that are missing, values of another type. Empty when nothing is.
 */
export function schemaFaults(object: KubernetesObject, definitions: Definitions): readonly string[] {
  const [version = '', group = ''] = object.apiVersion.split('/').reverse();
  const definition = definitionOf(definitions, { group, version, kind: object.kind });
  const name = `${object.kind} ${object.metadata.name}`;
  if (definition === undefined) return [`${name}: there is no ${object.kind} in ${object.apiVersion}`];
  return faultsOf(object, definition, '', definitions).map((fault) => `${name}: ${fault}`);
}

function faultsOf(value: unknown, schema: JsonSchema, path: string, definitions: Definitions): string[] {
  const { $ref, type, format, items, additionalProperties } = schema;
  if ($ref !== undefined) {
    const name = definitionName($ref);
    const referred = definitions[name];
    if (referred === undefined) return [`${path}: there is no definition ${name}`];
    // Written as a number or as text; the definition says text.
    const isQuantity = name.endsWith('.api.resource.Quantity');
    return isQuantity && typeof value === 'number' ? [] : faultsOf(value, referred, path, definitions);
  }
  if (!isOfType(value, type, format)) return [`${path} is not of type ${format ?? type}`];
  if (Array.isArray(value)) {
    return items === undefined
      ? []
      : value.flatMap((item, index) =>
          isDirective(item) ? [] : faultsOf(item, items, `${path}[${index}]`, definitions),
        );
  }
  if (!isRecord(value)) return [];
  if (additionalProperties !== undefined) {
    return Object.entries(value).flatMap(([key, field]) =>
      faultsOf(field, additionalProperties, `${path}.${key}`, definitions),
    );
  }
  return objectFaults(value, schema, path, definitions);
}

function objectFaults(
  value: Readonly<Record<string, unknown>>,
  { properties, required = [] }: JsonSchema,
  path: string,
  definitions: Definitions,
): string[] {
  // A type without fields takes any.
  if (properties === undefined) return [];
  const missing = required.filter((name) => !(name in value)).map((name) => `${path}.${name} is missing`);
  const faults = Object.entries(value).flatMap(([name, field]) => {
    const property = properties[name];
    return property === undefined
      ? [`${path}.${name} does not exist`]
      : faultsOf(field, property, `${path}.${name}`, definitions);
  });
  return [...missing, ...faults];
}

function isOfType(value: unknown, type: string | undefined, format: string | undefined): boolean {
  if (format === 'int-or-string') return typeof value === 'string' || Number.isInteger(value);
  switch (type) {
    case 'string':
    case 'boolean':
    case 'number':
      return typeof value === type;
    case 'integer':
      return Number.isInteger(value);
    case 'array':
      return Array.isArray(value);
    default:
      return isRecord(value);
  }
}

/** An item of a list in a strategic merge patch that says what becomes of the list; no object has it. */
function isDirective(item: unknown): boolean {
  return isRecord(item) && Object.keys(item).join() === '$patch';
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
