/** JSON as parsed. Read-only throughout: what is stored is shared by every reader, changes make new objects. */
export type JsonValue = null | boolean | number | string | readonly JsonValue[] | JsonObject;

export interface JsonObject {
  readonly [field: string]: JsonValue | undefined;
}

export interface ObjectMeta extends JsonObject {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
}

export interface KubernetesObject extends JsonObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !isJsonArray(value);
}

export function isJsonArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The object at `path`, or an empty one. */
export function objectAt(value: JsonValue | undefined, ...path: readonly string[]): JsonObject {
  const found = valueAt(value, ...path);
  return isJsonObject(found) ? found : {};
}

export function arrayAt(value: JsonValue | undefined, ...path: readonly string[]): readonly JsonValue[] {
  const found = valueAt(value, ...path);
  return isJsonArray(found) ? found : [];
}

/** The text at `path`, or the empty string; numbers and booleans are written out. */
export function textAt(value: JsonValue | undefined, ...path: readonly string[]): string {
  const found = valueAt(value, ...path);
  return typeof found === 'string' || typeof found === 'number' || typeof found === 'boolean'
    ? String(found)
    : '';
}

export function numberAt(value: JsonValue | undefined, ...path: readonly string[]): number | undefined {
  const found = valueAt(value, ...path);
  return typeof found === 'number' ? found : undefined;
}

export function valueAt(value: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined {
  let current = value;
  for (const field of path) {
    if (!isJsonObject(current) || !Object.hasOwn(current, field)) return undefined;
    current = current[field];
  }
  return current;
}

/** A copy of `object` without `field`. */
export function without<T extends JsonObject>(object: T, field: string): Omit<T, typeof field> & JsonObject {
  const { [field]: _removed, ...rest } = object;
  return rest as Omit<T, typeof field> & JsonObject;
}

/** True if two JSON values say the same; the order of fields does not matter. */
export function equalJson(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  if (left === right) return true;
  if (isJsonArray(left) && isJsonArray(right)) {
    return left.length === right.length && left.every((item, index) => equalJson(item, right[index]));
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  const fields = definedFields(left);
  return fields.length === definedFields(right).length && fields.every((f) => equalJson(left[f], right[f]));
}

function definedFields(object: JsonObject): string[] {
  return Object.keys(object).filter((field) => object[field] !== undefined);
}
