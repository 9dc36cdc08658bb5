import { isJsonObject, type JsonValue } from '../kubernetes-object.ts';

/** Applies a JSON merge patch (RFC 7396): null removes, objects merge, everything else replaces. */
export function applyMergePatch(document: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isJsonObject(patch)) return patch;
  const merged: Record<string, JsonValue | undefined> = isJsonObject(document) ? { ...document } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    if (value === null) delete merged[field];
    else merged[field] = applyMergePatch(merged[field], value);
  }
  return merged;
}
