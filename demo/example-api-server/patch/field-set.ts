import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectAt,
} from '../kubernetes-object.ts';
import { isSet, mergeKeyOf } from './merge-keys.ts';

/**
 * Which fields of an object someone owns, in the form of `managedFields[].fieldsV1`: `f:<name>` is a field,
 * `k:{…}` the list item with that key, `v:<value>` a member of a set, `.` the thing itself.
 */
export type FieldPath = readonly string[];

/** Not owned by anyone: they say which object it is. */
const identity = ['apiVersion', 'kind'];
const identityOfMetadata = [
  'name',
  'namespace',
  'managedFields',
  'resourceVersion',
  'uid',
  'creationTimestamp',
];

/** The fields that an applied configuration names. */
export function fieldsOf(configuration: JsonObject): JsonObject {
  const metadata = objectAt(configuration, 'metadata');
  const owned = omit(metadata, identityOfMetadata);
  return fieldsOfObject({
    ...omit(configuration, [...identity, 'metadata']),
    // Metadata that says no more than which object it is owns nothing.
    ...(Object.keys(owned).length === 0 ? {} : { metadata: owned }),
  });
}

function fieldsOfObject(object: JsonObject): JsonObject {
  const fields = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields.map(([name, value]) => [`f:${name}`, fieldsOfValue(name, value)]));
}

function fieldsOfValue(name: string, value: JsonValue | undefined): JsonObject {
  if (isJsonObject(value)) return fieldsOfObject(value);
  if (!isJsonArray(value)) return {};
  if (isSet(name)) return Object.fromEntries(value.map((item) => [`v:${JSON.stringify(item)}`, {}]));
  const key = mergeKeyOf(name, value);
  if (key === undefined) return {};
  const items = value
    .filter(isJsonObject)
    .map((item) => [`k:${JSON.stringify({ [key]: item[key] })}`, { '.': {}, ...fieldsOfObject(item) }]);
  return Object.fromEntries(items);
}

/** The ends of a field set: what is owned in the narrow sense. */
export function leavesOf(fields: JsonObject, prefix: FieldPath = []): FieldPath[] {
  return Object.entries(fields).flatMap(([segment, inner]) => {
    const path = [...prefix, segment];
    return isJsonObject(inner) && Object.keys(inner).length > 0 ? leavesOf(inner, path) : [path];
  });
}

/** The field set without one path; what becomes empty goes too. */
export function withoutPath(fields: JsonObject, path: FieldPath): JsonObject {
  const [segment = '', ...rest] = path;
  const inner = fields[segment];
  const remaining = isJsonObject(inner) && rest.length > 0 ? withoutPath(inner, rest) : {};
  const kept = Object.keys(remaining).length > 0 ? { [segment]: remaining } : {};
  return { ...omit(fields, [segment]), ...kept };
}

/** What stands at a path; `undefined` for nothing. */
export function readField(value: JsonValue | undefined, path: FieldPath): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>((current, segment) => {
    if (segment === '.') return current;
    if (isJsonObject(current)) return current[segment.slice(2)];
    return isJsonArray(current) ? current[indexOfSegment(current, segment)] : undefined;
  }, value);
}

/** The value without what stands at a path. */
export function removeField(value: JsonValue, path: FieldPath): JsonValue {
  const [segment = '', ...rest] = path;
  const isEnd = rest.length === 0 || rest[0] === '.';
  if (isJsonArray(value)) {
    const index = indexOfSegment(value, segment);
    const item = value[index];
    if (item === undefined) return value;
    return isEnd ? value.toSpliced(index, 1) : value.with(index, removeField(item, rest));
  }
  if (!isJsonObject(value)) return value;
  const name = segment.slice(2);
  const inner = value[name];
  if (inner === undefined) return value;
  return isEnd ? omit(value, [name]) : { ...value, [name]: removeField(inner, rest) };
}

function indexOfSegment(items: readonly JsonValue[], segment: string): number {
  const wanted: JsonValue = JSON.parse(segment.slice(2));
  const index = segment.startsWith('v:')
    ? items.indexOf(wanted)
    : items.findIndex(
        (item) =>
          isJsonObject(item) &&
          isJsonObject(wanted) &&
          Object.entries(wanted).every(([key, value]) => item[key] === value),
      );
  // Past the end, so that nothing is found there: -1 would be the last one to `with` and `toSpliced`.
  return index === -1 ? items.length : index;
}

/** For messages: `.spec.containers[name="a"].image`. */
export function describePath(path: FieldPath): string {
  return path
    .filter((segment) => segment !== '.')
    .map((segment) => {
      const text = segment.slice(2);
      if (segment.startsWith('f:')) return `.${text}`;
      if (segment.startsWith('v:')) return `[=${text}]`;
      const key: Record<string, JsonValue> = JSON.parse(text);
      return `[${Object.entries(key).map(([name, value]) => `${name}=${JSON.stringify(value)}`)}]`;
    })
    .join('');
}

function omit(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}
