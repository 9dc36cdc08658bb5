import * as v from 'valibot';
import { stringify } from 'yaml';
import { isSameJson } from '../../runtime/same-json.ts';
import { fromJson } from '../../runtime/validation.ts';
import type { ControlPlane } from './control-plane.ts';
import type { TextChange } from './file-change.ts';
import { InstallationRefused } from './kubeadm-node.ts';
import { type RightsObject, routerRights } from './reader-rights.ts';

/** The installer's change of an object: `made` it, or `added` subjects to somebody else's. */
const annotation = 'mixed-version-proxy/installer';

const presentSchema = v.looseObject({
  metadata: v.looseObject({
    resourceVersion: v.optional(v.string()),
    annotations: v.nullish(v.record(v.string(), v.string()), {}),
  }),
  rules: v.nullish(v.array(v.unknown()), []),
  subjects: v.nullish(v.array(v.unknown()), []),
});
type Present = v.InferOutput<typeof presentSchema>;

type Cluster = Pick<ControlPlane, 'ask'>;

/** The rights of the routers' user, and those to use routers' own paths: what a cluster lacks of them. */
export async function rightsChanges(cluster: Cluster): Promise<readonly TextChange[]> {
  const changes: TextChange[] = [];
  for (const wanted of routerRights) {
    const present = await read(cluster, wanted);
    const { object } = wanted;
    const { kind, metadata } = object;
    const keys = Object.keys(object).filter((key) => key !== 'metadata');
    // Only what is written: an API server adds metadata of its own, and writes the fields of a rule in another order.
    const textOf = (from: Readonly<Record<string, unknown>>) =>
      stringify(Object.fromEntries([...keys.map((key) => [key, from[key]]), ['metadata', metadata]]), {
        sortMapEntries: true,
      });
    const name = metadata.namespace === undefined ? metadata.name : `${metadata.namespace}/${metadata.name}`;
    const before = present === undefined ? undefined : textOf(present);
    const after = textOf(merged(present, object));
    if (before !== after) changes.push({ path: `${kind} ${name}`, before, after });
  }
  return changes;
}

/** Makes what is not there, and adds to what is: subjects and labels of others stay. @throws {InstallationRefused} */
export async function grantRights(cluster: Cluster): Promise<void> {
  for (const wanted of routerRights) {
    await change(cluster, wanted, (present) => merged(present, wanted.object));
  }
}

/** Takes back what `grantRights` has made and added, and nothing else. */
export async function withdrawRights(cluster: Cluster): Promise<void> {
  // Bindings after their roles in the list: they go first.
  for (const wanted of routerRights.toReversed()) {
    await change(cluster, wanted, (present) => present && without(present, wanted.object));
  }
}

/** Pure. */
function merged(
  present: Present | undefined,
  object: RightsObject['object'],
): Readonly<Record<string, unknown>> {
  if (present === undefined) {
    return { ...object, metadata: { ...object.metadata, annotations: { [annotation]: 'made' } } };
  }
  const { subjects } = object;
  if (!Array.isArray(subjects))
    return isSameJson(present.rules, object['rules']) ? present : { ...present, rules: object['rules'] };
  const missing = subjects.filter((own) => !present.subjects.some((each) => isSameSubject(each, own)));
  if (missing.length === 0) return present;
  const annotations = { [annotation]: 'added', ...present.metadata.annotations };
  return {
    ...present,
    metadata: { ...present.metadata, annotations },
    subjects: [...present.subjects, ...missing],
  };
}

/** The rest of the object; `undefined`: nothing is left. Pure. */
function without(present: Present, object: RightsObject['object']): object | undefined {
  const { [annotation]: done, ...annotations } = present.metadata.annotations ?? {};
  if (done === undefined) return present;
  const { subjects } = object;
  if (!Array.isArray(subjects)) return done === 'made' ? undefined : present;
  const left = present.subjects.filter((each) => !subjects.some((own) => isSameSubject(each, own)));
  if (left.length === 0 && done === 'made') return undefined;
  return { ...present, metadata: { ...present.metadata, annotations }, subjects: left };
}

/** An API server fills in the API group. */
function isSameSubject(one: unknown, other: unknown): boolean {
  const { kind, name, namespace } = v.parse(subject, one);
  return isSameJson({ kind, name, namespace }, v.parse(subject, other));
}

const subject = v.object({ kind: v.string(), name: v.string(), namespace: v.optional(v.string()) });

async function read(cluster: Cluster, { collection, object }: RightsObject): Promise<Present | undefined> {
  const { status, text } = await cluster.ask(`${collection}/${object.metadata.name}`);
  if (status === 404) return undefined;
  const result = v.safeParse(fromJson(presentSchema), text);
  if (status === 200 && result.success) return result.output;
  throw failure(object, 'read', status);
}

/** Tries again where somebody else changes the object at the same time. */
const attempts = 3;

async function change(
  cluster: Cluster,
  wanted: RightsObject,
  to: (present: Present | undefined) => object | undefined,
): Promise<void> {
  const { collection, object } = wanted;
  const path = `${collection}/${object.metadata.name}`;
  let status = 0;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const present = await read(cluster, wanted);
    const after = to(present);
    if (after === present) return;
    const resourceVersion = present?.metadata.resourceVersion;
    const options = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { resourceVersion } };
    ({ status } = await (present === undefined
      ? cluster.ask(collection, { method: 'POST', object: after ?? {} })
      : after === undefined
        ? cluster.ask(path, { method: 'DELETE', object: options })
        : cluster.ask(path, { method: 'PUT', object: after })));
    if (status === 200 || status === 201) return;
    if (status !== 409) break;
  }
  throw failure(object, 'written', status);
}

function failure({ kind, metadata }: RightsObject['object'], what: string, status: number) {
  return new InstallationRefused(
    `${kind} ${metadata.name} cannot be ${what}: the API server returned ${status}`,
  );
}
