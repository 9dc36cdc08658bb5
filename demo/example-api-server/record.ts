/**
 * Makes what example API servers serve out of a recording of a real kube-apiserver (demo/README.md, "Another version of
 * Kubernetes"): `node demo/example-api-server/record.ts <folder>/<server ID>`, where `mixed-version-proxy sync --record=<folder>`
 * has written the folder.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import * as v from 'valibot';
import { groupVersionOf, type RecordedResource, type Recording } from './kubernetes-versions.ts';

const kind = v.object({ group: v.string(), version: v.string(), kind: v.string() });
const resource = v.object({
  resource: v.string(),
  responseKind: kind,
  scope: v.picklist(['Namespaced', 'Cluster']),
  verbs: v.array(v.string()),
  shortNames: v.exactOptional(v.array(v.string())),
  categories: v.exactOptional(v.array(v.string())),
  subresources: v.exactOptional(
    v.array(v.object({ subresource: v.string(), responseKind: kind, verbs: v.array(v.string()) })),
  ),
});
/** APIGroupDiscoveryList: what is left out here, a server says for itself. */
const discovery = v.object({
  items: v.array(
    v.object({
      metadata: v.optional(v.object({ name: v.optional(v.string()) })),
      versions: v.array(v.object({ version: v.string(), resources: v.array(resource) })),
    }),
  ),
});
const apiServices = v.object({
  items: v.array(
    v.object({
      spec: v.object({
        group: v.optional(v.string(), ''),
        version: v.string(),
        groupPriorityMinimum: v.number(),
        versionPriority: v.number(),
        service: v.nullish(v.unknown()),
      }),
    }),
  ),
});

/** No APIService stands for the group of APIServices: kube-aggregator puts it before all others (handler_apis.go). */
const aggregatorsOwn = ['apiregistration.k8s.io/v1', [20_000, 15]] as const;

/**
 * Resources that a kube-apiserver said to serve, without custom resources and what extension API servers serve.
 * @param folder of one server, in a folder that `sync --record` has written
 * @throws {ValiError} when a document is of another form
 */
export function recordingFrom(folder: string): Recording {
  const read = <Schema extends v.GenericSchema>(path: string, schema: Schema): v.InferOutput<Schema> =>
    v.parse(schema, JSON.parse(readFileSync(path, 'utf8')));
  const { gitVersion } = read(join(folder, 'version.json'), v.object({ gitVersion: v.string() }));
  const services = read(
    join(dirname(folder), 'apis__apiregistration.k8s.io__v1__apiservices.json'),
    apiServices,
  ).items.map(({ spec }) => spec);
  const customGroups = new Set(
    read(
      join(dirname(folder), 'apis__apiextensions.k8s.io__v1__customresourcedefinitions.json'),
      v.object({ items: v.array(v.object({ spec: v.object({ group: v.string() }) })) }),
    ).items.map(({ spec }) => spec.group),
  );
  const isBuiltIn = (group: string, version: string): boolean =>
    !customGroups.has(group) &&
    !services.some((spec) => spec.group === group && spec.version === version && spec.service != null);
  const priorities = Object.fromEntries([
    aggregatorsOwn,
    ...services
      .filter(({ group, version }) => isBuiltIn(group, version))
      .map((spec) => [
        groupVersionOf(spec.group, spec.version),
        [spec.groupPriorityMinimum, spec.versionPriority] as const,
      ]),
  ]);
  const groups = ['aggregated_api.json', 'aggregated_apis.json']
    .flatMap((name) => read(join(folder, name), discovery).items)
    .map(({ metadata: { name = '' } = {}, versions }) => ({
      ...(name === '' ? {} : { name }),
      versions: versions
        .filter(({ version }) => isBuiltIn(name, version))
        .map((each) => withoutOwnKinds(name, each)),
    }))
    .filter(({ versions }) => versions.length > 0);
  return { gitVersion, priorities, groups };
}

/** Kinds of the group version itself without their group and version, as recordings have them. */
function withoutOwnKinds(
  group: string,
  { version, resources }: { readonly version: string; readonly resources: readonly RecordedResource[] },
) {
  const short = <Named extends Pick<RecordedResource, 'responseKind'>>(named: Named): Named => {
    const { responseKind } = named;
    const isOwn = responseKind.group === group && responseKind.version === version;
    return isOwn ? { ...named, responseKind: { ...responseKind, group: '', version: '' } } : named;
  };
  return {
    version,
    resources: resources.map((each) => ({
      ...short(each),
      ...(each.subresources === undefined ? {} : { subresources: each.subresources.map(short) }),
    })),
  };
}

if (import.meta.main) {
  const recording = recordingFrom(process.argv[2] ?? '.');
  const [, minor = ''] = /^v(\d+\.\d+)\./.exec(recording.gitVersion) ?? [];
  const path = join(import.meta.dirname, 'recorded', `kubernetes-${minor}.json.gz`);
  writeFileSync(path, gzipSync(JSON.stringify(recording), { level: 9 }));
  process.stdout.write(`${path}: ${recording.groups.length} groups of ${recording.gitVersion}\n`);
}
