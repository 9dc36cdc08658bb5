import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from '../kubernetes-object.ts';
import { isSet, mergeKeyOf, sameItem } from './merge-keys.ts';

/**
 * Applies a strategic merge patch: a merge patch whose lists of objects merge item by item, by a key
 * (k8s.io/apimachinery pkg/util/strategicpatch). Its directives are known: `$patch` (`merge`, `replace`,
 * `delete`), `$deleteFromPrimitiveList/<list>`, `$setElementOrder/<list>` and `$retainKeys`.
 */
export function applyStrategicMergePatch(document: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch;
  const base = isJsonObject(document) ? document : {};
  if (patch['$patch'] === 'replace') return withoutDirectives(patch);
  if (patch['$patch'] === 'delete') return {};

  const merged: Record<string, JsonValue | undefined> = retained(base, patch['$retainKeys']);
  for (const [field, value] of Object.entries(patch)) {
    if (field.startsWith('$') || value === undefined) continue;
    if (value === null) delete merged[field];
    else if (isJsonArray(value)) merged[field] = mergeList(field, listOf(merged[field]), value);
    else merged[field] = applyStrategicMergePatch(merged[field], value);
  }
  applyListDirectives(merged, patch);
  return merged;
}

function retained(base: JsonObject, keys: JsonValue | undefined): Record<string, JsonValue | undefined> {
  if (!isJsonArray(keys)) return { ...base };
  return Object.fromEntries(Object.entries(base).filter(([field]) => keys.includes(field)));
}

function applyListDirectives(merged: Record<string, JsonValue | undefined>, patch: JsonObject): void {
  for (const [directive, value] of Object.entries(patch)) {
    const [name = '', list = ''] = directive.split('/');
    if (list === '' || !isJsonArray(value)) continue;
    const current = listOf(merged[list]);
    if (name === '$deleteFromPrimitiveList') merged[list] = current.filter((item) => !value.includes(item));
    if (name === '$setElementOrder' && current.length > 0) merged[list] = ordered(list, current, value);
  }
}

function mergeList(list: string, base: readonly JsonValue[], patch: readonly JsonValue[]): JsonValue[] {
  if (isSet(list)) return [...new Set([...base, ...patch])];
  const replaces = patch.some((item) => isJsonObject(item) && item['$patch'] === 'replace');
  const given = patch.filter((item) => !(isJsonObject(item) && item['$patch'] === 'replace'));
  const key = mergeKeyOf(list, base, given);
  if (replaces || key === undefined) return given.map(withoutDirectives);

  const merged = [...base];
  for (const item of given.filter(isJsonObject)) {
    const present = sameItem(merged, key, item);
    if (item['$patch'] === 'delete') {
      if (present !== undefined) merged.splice(merged.indexOf(present), 1);
    } else if (present === undefined) merged.push(withoutDirectives(item));
    else merged[merged.indexOf(present)] = applyStrategicMergePatch(present, item);
  }
  return merged;
}

/** Items named by the directive come in its order; the others stay behind those they stood behind. */
function ordered(list: string, items: readonly JsonValue[], order: readonly JsonValue[]): JsonValue[] {
  const key = mergeKeyOf(list, order);
  const rank = (item: JsonValue): number =>
    order.findIndex((other) =>
      key === undefined || !isJsonObject(item) || !isJsonObject(other)
        ? other === item
        : other[key] === item[key],
    );
  let last = -1;
  const ranked = items.map((item) => {
    const found = rank(item);
    last = found === -1 ? last : found;
    return { item, rank: found === -1 ? last + 0.5 : found };
  });
  return ranked.sort((left, right) => left.rank - right.rank).map(({ item }) => item);
}

function withoutDirectives(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(withoutDirectives);
  if (!isJsonObject(value)) return value;
  const fields = Object.entries(value).filter(
    ([field, inner]) => !field.startsWith('$') && inner !== undefined,
  );
  return Object.fromEntries(fields.map(([field, inner]) => [field, withoutDirectives(inner ?? null)]));
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return isJsonArray(value) ? value : [];
}
