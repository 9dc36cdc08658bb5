import { ApiError } from '../api-error.ts';
import {
  arrayAt,
  equalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type KubernetesObject,
  objectAt,
  textAt,
} from '../kubernetes-object.ts';
import {
  describePath,
  type FieldPath,
  fieldsOf,
  leavesOf,
  readField,
  removeField,
  withoutPath,
} from './field-set.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';

export interface ApplyOptions {
  readonly fieldManager: string;
  /** Take over fields that other managers own. */
  readonly force: boolean;
  readonly apiVersion: string;
  /** RFC 3339. */
  readonly now: string;
}

/**
 * Server-side apply: the live object with the configuration merged in. What this manager applied before and
 * leaves out now goes, unless someone else applies it too. Only managers that apply are recorded in
 * `managedFields`: ordinary writes own nothing here.
 *
 * @throws {ApiError} Conflict when another manager owns a field with another value and `force` is not set.
 */
export function applyConfiguration(
  live: KubernetesObject,
  configuration: KubernetesObject,
  { fieldManager, force, apiVersion, now }: ApplyOptions,
): KubernetesObject {
  const entries = arrayAt(live.metadata, 'managedFields').filter(isJsonObject);
  const own = entries.find((entry) => entry['manager'] === fieldManager && entry['operation'] === 'Apply');
  const others = entries.filter((entry) => entry !== own);

  const fields = fieldsOf(configuration);
  const applied = leavesOf(fields);
  const conflicts = others.flatMap((entry) =>
    leavesOf(objectAt(entry, 'fieldsV1'))
      .filter((path) => includesPath(applied, path))
      .filter((path) => !equalJson(readField(live, path), readField(configuration, path)))
      .map((path) => ({ entry, path })),
  );
  if (conflicts.length > 0 && !force) throw applyConflict(conflicts);

  const remaining = others
    .map((entry) => releaseFields(entry, conflicts))
    .filter((entry) => Object.keys(objectAt(entry, 'fieldsV1')).length > 0);
  const ownedByOthers = remaining.flatMap((entry) => leavesOf(objectAt(entry, 'fieldsV1')));
  const given = leavesOf(objectAt(own, 'fieldsV1'))
    .filter((path) => !includesPath(applied, path) && !includesPath(ownedByOthers, path))
    .reduce<JsonValue>((object, path) => removeField(object, path), live);

  const merged = applyStrategicMergePatch(given, configuration) as KubernetesObject;
  const entry = { manager: fieldManager, operation: 'Apply', apiVersion, time: now };
  const managedFields = [...remaining, { ...entry, fieldsType: 'FieldsV1', fieldsV1: fields }];
  return { ...merged, metadata: { ...merged.metadata, managedFields } };
}

interface FieldConflict {
  readonly entry: JsonObject;
  readonly path: FieldPath;
}

function includesPath(paths: readonly FieldPath[], path: FieldPath): boolean {
  return paths.some((other) => other.length === path.length && other.every((part, i) => part === path[i]));
}

/** A manager whose field was taken over by force owns it no longer. */
function releaseFields(entry: JsonObject, conflicts: readonly FieldConflict[]): JsonObject {
  const taken = conflicts.filter((one) => one.entry === entry);
  if (taken.length === 0) return entry;
  const fieldsV1 = taken.reduce((fields, { path }) => withoutPath(fields, path), objectAt(entry, 'fieldsV1'));
  return { ...entry, fieldsV1 };
}

function applyConflict(conflicts: readonly FieldConflict[]): ApiError {
  const causes = conflicts.map(({ entry, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with "${textAt(entry, 'manager')}" using ${textAt(entry, 'apiVersion')}`,
    field: describePath(path),
  }));
  const list = causes.map(({ message, field }) => `${message}: ${field}`).join('\n');
  const count = `${causes.length} conflict${causes.length === 1 ? '' : 's'}`;
  return new ApiError('Conflict', `Apply failed with ${count}: ${list}`, { causes });
}
