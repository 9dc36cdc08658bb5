import { isJsonObject, type JsonObject, type JsonValue } from '../kubernetes-object.ts';

/**
 * The field by which the items of a list are told apart, by the name of the list (`patchMergeKey` and
 * `listMapKeys` in k8s.io/api). Kubernetes knows it per type; here the first key that all items have is taken.
 * A list that is not here, or whose items lack the keys, is replaced as a whole.
 */
const mergeKeys: Readonly<Record<string, readonly string[]>> = {
  conditions: ['type'],
  containers: ['name'],
  env: ['name'],
  ephemeralContainers: ['name'],
  hostAliases: ['ip'],
  imagePullSecrets: ['name'],
  initContainers: ['name'],
  managedFields: [],
  ownerReferences: ['uid'],
  // Containers tell ports apart by containerPort, services by port.
  ports: ['containerPort', 'port'],
  schedulingGates: ['name'],
  secrets: ['name'],
  topologySpreadConstraints: ['topologyKey'],
  volumeDevices: ['devicePath'],
  volumeMounts: ['mountPath'],
  volumes: ['name'],
  webhooks: ['name'],
};

/** Lists of plain values that merge as sets do. */
const sets: ReadonlySet<string> = new Set(['finalizers']);

export function isSet(list: string): boolean {
  return sets.has(list);
}

/** The merge key of the list called `list`, if every one of `items` has it. */
export function mergeKeyOf(list: string, ...items: readonly (readonly JsonValue[])[]): string | undefined {
  const all = items.flat();
  return (mergeKeys[list] ?? []).find((key) =>
    all.every((item) => isJsonObject(item) && item[key] !== undefined),
  );
}

/** The item of `items` that has the same value under `key` as `like`. */
export function sameItem(items: readonly JsonValue[], key: string, like: JsonObject): JsonObject | undefined {
  return items.filter(isJsonObject).find((item) => item[key] === like[key]);
}
