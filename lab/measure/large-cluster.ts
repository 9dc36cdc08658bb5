import { aggregatedDocument } from '../../src/discovery/forms/aggregated.ts';
import { describeIssues } from '../../src/runtime/validation.ts';
import { parseSnapshot } from '../../src/snapshot/format/parse-snapshot.ts';
import type { APIGroupDiscovery, ServedSet, Snapshot } from '../../src/snapshot/format/schema.ts';
import { buildSnapshot } from '../../src/sync/build-snapshot.ts';
import { readServer } from '../../src/sync/documents/read-server.ts';
import type { ServerDocuments } from '../../src/sync/documents/server-documents.ts';
import type { ServerReading } from '../../src/sync/documents/sync-server.ts';

const perGroup = 16;
/** Resources that are compared by their schemas: those of custom resources are not. Kubernetes 1.36 serves 89. */
const comparedCount = 96;
/** Built-in groups; all others are of custom resources. */
const builtInGroups = 25;

/** Answers of the servers of a control plane that serves so many resources, as readings of a sync job and as snapshots. */
export function largeCluster(resourceCount: number) {
  const groupCount = resourceCount / perGroup;
  const customResourceGroups = discoveryOf(0, groupCount)
    .slice(builtInGroups)
    .map(({ metadata }) => ({ group: metadata.name ?? '', version: 'v1' }));
  const schemas = new Map<string | undefined, NonNullable<ServedSet['schemas']>>();

  /** A tenth of the digests are those of one version alone. */
  function schemasOf(reading: ServerReading): NonNullable<ServedSet['schemas']> {
    if (!reading.ok) return {};
    const known = schemas.get(reading.version);
    if (known !== undefined) return known;
    const names = Object.keys(reading.set.storageVersions).slice(0, comparedCount);
    const made = Object.fromEntries(
      names.map((name, index) => {
        const digest = index % 10 === 0 ? `${reading.version}:${index}` : `${index}`;
        return [name, { v1: Buffer.from(digest.padEnd(8)).subarray(0, 8).toString('base64') }];
      }),
    );
    schemas.set(reading.version, made);
    return made;
  }

  return {
    /** Answers of a server of one version, as text; each version has one resource that no other has. */
    documentsOf: (version: number, gitVersion = `v1.${30 + version}.0`): ServerDocuments =>
      documentsOf(discoveryOf(version, groupCount), gitVersion),
    /** @param addresses by server ID. Default: some */
    async build(
      read: ReadonlyMap<string, ServerReading>,
      previous: Snapshot | undefined,
      addresses: ReadonlyMap<string, string> = new Map(),
    ): Promise<Snapshot> {
      const { snapshot } = await buildSnapshot({
        servers: [...read].map(([id, reading], index) => ({
          server: { id, address: addresses.get(id) ?? `10.0.${index}.1:6443` },
          reading,
        })),
        clusterObjects: { apiServices: [], customResourceGroups, warnings: [] },
        schemas: new Map([...read].map(([id, reading]) => [id, schemasOf(reading)])),
        previous,
        now: Date.now(),
      });
      const parsed = await parseSnapshot(snapshot);
      if (!parsed.ok) throw new TypeError(`no snapshot was made: ${describeIssues(parsed.issues)}`);
      return parsed.snapshot;
    },
    /** Readings as a round has them: servers of one version give the same documents, which are read once. */
    readings(versions: number, servers: number): Promise<[id: string, reading: ServerReading][]> {
      const documents = Array.from({ length: versions }, (_, version) => this.documentsOf(version));
      return Promise.all(
        Array.from({ length: servers }, async (_, index) => [
          `apiserver-${index}`,
          await readServer(documents[index % versions] ?? this.documentsOf(0)),
        ]),
      );
    },
  };
}

function documentsOf(groups: readonly APIGroupDiscovery[], gitVersion: string): ServerDocuments {
  const paths = Object.fromEntries(
    groups.map(({ metadata: { name } }) => [
      `apis/${name}/v1`,
      { serverRelativeURL: `/openapi/v3/apis/${name}/v1?hash=${'A'.repeat(128)}` },
    ]),
  );
  const bodies = new Map<string, object>([
    ['/api', aggregatedDocument('v2', [coreGroup])],
    ['/apis', aggregatedDocument('v2', groups)],
    ['/openapi/v3', { paths }],
    ['/version', { gitVersion }],
    ['/readyz', {}],
    ['/api/v1/namespaces', { kind: 'NamespaceList', apiVersion: 'v1', metadata: {}, items: [] }],
  ]);
  const documents = new Map(
    [...bodies].map(([path, body]) => [
      path,
      { status: 200, contentType: 'application/json', body: JSON.stringify(body) },
    ]),
  );
  const notServed = { status: 404, contentType: 'text/plain', body: '404 page not found' };
  return { get: async (path) => documents.get(path) ?? notServed };
}

const coreGroup: APIGroupDiscovery = {
  metadata: { name: '' },
  versions: [
    {
      version: 'v1',
      resources: [
        {
          resource: 'namespaces',
          responseKind: { group: '', version: '', kind: 'Namespace' },
          scope: 'Cluster',
          singularResource: 'namespace',
          verbs: ['get', 'list', 'watch'],
        },
      ],
      freshness: 'Current',
    },
  ],
};

/** Aggregated discovery of one version; each version has one resource that no other has. */
function discoveryOf(version: number, groupCount: number): APIGroupDiscovery[] {
  return Array.from({ length: groupCount }, (_, group) => ({
    metadata: { name: `group${group}.example.com` },
    versions: [
      {
        version: 'v1',
        // The legacy group has one.
        resources: Array.from({ length: group === 0 ? perGroup - 1 : perGroup }, (_, index) => {
          const suffix = group === 0 && index === 0 ? `only${version}` : `${group}x${index}`;
          const kind = `Resource${suffix}`;
          const responseKind = { group: '', version: '', kind };
          return {
            resource: `resource${suffix}s`,
            responseKind,
            scope: 'Namespaced' as const,
            singularResource: `resource${suffix}`,
            verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
            // Servers leave out what is empty (k8s.io/api/apidiscovery/v2/types.go, `omitempty`).
            ...(index % 4 === 0 ? { shortNames: [`r${suffix}`], categories: ['all'] } : {}),
            ...(index % 3 === 0
              ? { subresources: [{ subresource: 'status', responseKind, verbs: ['get', 'patch', 'update'] }] }
              : {}),
          };
        }),
        freshness: 'Current' as const,
      },
    ],
  }));
}
