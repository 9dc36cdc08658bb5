import { createHash } from 'node:crypto';
import type { APIGroupDiscovery, APIResourceDiscovery } from '../../../src/apimachinery/discovery-types.ts';
import { servedSetFromDiscovery } from '../../../src/discovery/forms/served-set-of.ts';
import { canonicalJson } from '../../../src/runtime/canonical-json.ts';
import { snapshotApiVersion, snapshotKind } from '../../../src/snapshot/format/schema.ts';
import type { Snapshot } from '../../../src/snapshot/format/types.ts';

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/**
 * Servers `server-0`, `server-1`, …, each of another version: all have the same groups, and each differs from the
 * others in a resource of every tenth group and a verb of every seventh.
 */
export function differingServers(groupCount: number, serverCount: number): Snapshot {
  const servers: Snapshot['servers'][number][] = [];
  const servedSets: Record<string, Snapshot['servedSets'][string]> = {};
  for (let server = 0; server < serverCount; server++) {
    const groups = Array.from({ length: groupCount }, (_, group) => groupOf(group, server));
    const set = servedSetFromDiscovery([{ metadata: {}, versions: [versionOf('v1', 0, server)] }, ...groups]);
    const key = `sha256:${createHash('sha256').update(canonicalJson(set)).digest('hex')}`;
    servedSets[key] = set;
    const id = `server-${server}`;
    servers.push({ id, address: `10.0.0.${server + 1}:6443`, version: `v1.${30 + server}.0`, serves: key });
  }
  return {
    apiVersion: snapshotApiVersion,
    kind: snapshotKind,
    metadata: {
      generation: 1,
      createdAt: new Date().toISOString(),
      lifetimeSeconds: 3600,
      source: 'discovery',
    },
    servers,
    servedSets,
    apiServices: [],
    customResourceGroups: [],
  };
}

function groupOf(group: number, server: number): APIGroupDiscovery {
  const versions = [versionOf('v1', group, server), versionOf('v1beta1', group, server)];
  return { metadata: { name: `group-${String(group).padStart(3, '0')}.example.com` }, versions };
}

function versionOf(version: string, group: number, server: number) {
  const resources = Array.from({ length: 8 }, (_, index) => resourceOf(index, group, server));
  if (group % 10 === 0) resources.push(resourceOf(100 + server, group, server));
  return { version, resources };
}

function resourceOf(index: number, group: number, server: number): APIResourceDiscovery {
  const kind = { group: '', version: '', kind: `Kind${index}OfGroup${group}` };
  return {
    resource: `kind${index}sofgroup${group}`,
    responseKind: kind,
    scope: 'Namespaced',
    singularResource: `kind${index}ofgroup${group}`,
    verbs: group % 7 === 0 ? verbs.slice(0, verbs.length - server) : verbs,
    shortNames: [`k${index}g${group}`],
    categories: ['all'],
    subresources: [
      { subresource: 'status', responseKind: kind, verbs: ['get', 'patch', 'update'] },
      { subresource: 'scale', responseKind: kind, verbs: ['get', 'patch', 'update'] },
    ],
  };
}

/** A document of about four megabytes, as kube-apiserver's own; a twentieth of it is this server's alone. */
export function largeOpenApiV2(server: number): Uint8Array {
  const own = (index: number): string => (index % 20 === 0 ? `${index}of${server}` : String(index));
  const entries = <Value>(count: number, name: (index: number) => string, value: (index: number) => Value) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), value(index)]));
  const description =
    'What this field means, at the length at which such things are usually explained. '.repeat(2);
  return new TextEncoder().encode(
    JSON.stringify({
      swagger: '2.0',
      info: { title: 'Kubernetes', version: `v1.${30 + server}.0` },
      paths: entries(
        900,
        (index) => `/apis/group-${own(index)}.example.com/v1/namespaces/{namespace}/kinds/{name}`,
        (index) => ({
          get: {
            description,
            operationId: `readKind${index}`,
            parameters: [{ name: 'pretty', in: 'query', description }],
            responses: { 200: { schema: { $ref: `#/definitions/com.example.v1.Kind${own(index)}` } } },
          },
          delete: { description, operationId: `deleteKind${index}` },
        }),
      ),
      definitions: entries(
        900,
        (index) => `com.example.v1.Kind${own(index)}`,
        () => ({
          description,
          properties: entries(
            16,
            (field) => `field${field}`,
            () => ({ description, type: 'string' }),
          ),
        }),
      ),
    }),
  );
}
