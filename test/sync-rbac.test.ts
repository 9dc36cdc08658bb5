import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import * as v from 'valibot';
import { parseAllDocuments } from 'yaml';
import type { RequestRecord } from '../demo/example-api-server/index.ts';
import { parseRequestInfo, type RequestInfo } from '../src/apimachinery/request-info.ts';
import { syncOnce } from '../src/sync/node/run-sync.ts';
import { askRouter, eventuallyReturns, startSync, syncCluster } from './support/clusters/sync-cluster.ts';

const policyRule = v.strictObject({
  apiGroups: v.optional(v.array(v.string()), []),
  resources: v.optional(v.array(v.string()), []),
  resourceNames: v.optional(v.array(v.string()), []),
  nonResourceURLs: v.optional(v.array(v.string()), []),
  verbs: v.array(v.string()),
});

const role = v.object({
  kind: v.picklist(['Role', 'ClusterRole']),
  metadata: v.object({ name: v.string(), namespace: v.optional(v.string()) }),
  rules: v.array(policyRule),
});

/** One thing that a role allows: a verb on a resource, or on a path. */
interface Permission {
  /** For messages. */
  readonly name: string;
  allows(request: RequestInfo): boolean;
}

/**
 * Everything that the roles of a manifest allow, one verb and one resource or path at a time, with the rules of
 * Kubernetes' authorizer (k8s.io/kubernetes pkg/apis/rbac/v1 evaluation helpers). All of it is taken as bound.
 */
function permissionsOf(manifest: string): readonly Permission[] {
  const documents = parseAllDocuments(manifest).map((document): unknown => document.toJS());
  return documents.flatMap((document) => {
    const parsed = v.safeParse(role, document);
    if (!parsed.success) return [];
    const { kind, metadata, rules } = parsed.output;
    const namespace = kind === 'Role' ? (metadata.namespace ?? '') : undefined;
    return rules.flatMap((rule) => [...resourcePermissions(rule, namespace), ...pathPermissions(rule)]);
  });
}

function resourcePermissions(
  { apiGroups, resources, resourceNames, verbs }: v.InferOutput<typeof policyRule>,
  namespace: string | undefined,
): Permission[] {
  return verbs.flatMap((verb) =>
    apiGroups.flatMap((group) =>
      resources.map((resource) => ({
        name: `${[verb, `${group}/${resource}`, ...resourceNames].join(' ')} in ${namespace ?? 'all namespaces'}`,
        allows: (request: RequestInfo) =>
          request.isResourceRequest &&
          request.verb === verb &&
          request.apiGroup === group &&
          request.resource === resource &&
          request.subresource === '' &&
          (resourceNames.length === 0 || resourceNames.includes(request.name)) &&
          (namespace === undefined || request.namespace === namespace),
      })),
    ),
  );
}

function pathPermissions({ nonResourceURLs, verbs }: v.InferOutput<typeof policyRule>): Permission[] {
  return verbs.flatMap((verb) =>
    nonResourceURLs.map((url) => ({
      name: `${verb} ${url}`,
      allows: ({ isResourceRequest, verb: asked, path }: RequestInfo) =>
        !isResourceRequest &&
        asked === verb &&
        (url.endsWith('*') ? path.startsWith(url.slice(0, -1)) : path === url),
    })),
  );
}

test('the manifest allows every request of the sync job, and nothing that it does not ask for', async (context) => {
  const manifest = await readFile(
    join(import.meta.dirname, '..', 'deploy', 'kubernetes', 'reader.yaml'),
    'utf8',
  );
  const permissions = permissionsOf(manifest);
  assert.ok(permissions.length > 10);

  const requests: RequestRecord[] = [];
  const onRequest = (record: RequestRecord) => {
    // Everybody may ask what they may do (ClusterRole system:basic-user): a router asks in the job's name.
    const isOwn = !record.url.endsWith('/selfsubjectaccessreviews');
    if (record.user?.name === 'mixed-version-proxy-sync' && isOwn) requests.push(record);
  };
  const cluster = await syncCluster(context);
  const older = await cluster.startServer({ version: '1.25', name: 'older', onRequest });
  const newer = await cluster.startServer({ version: '1.36', name: 'newer', onRequest });
  const router = await cluster.startRouter(newer);
  const { loop, stop } = await startSync(context, {
    ...cluster.credentials,
    servers: [],
    peers: { allowLoopback: true },
    kubernetes: { kubeconfig: await cluster.kubeconfig(newer) },
    routers: [{ url: router.origin }],
  });
  const client = askRouter(context, router.origin, cluster);
  await eventuallyReturns(client.status, ({ servers }) => servers.length === 2);
  await eventuallyReturns(
    async () => loop.status().servers,
    (servers) => servers.every(({ state }) => state === 'ready'),
  );
  await stop();
  const listed = [older, newer].map(({ serverId, url }) => ({ id: serverId, url }));
  const recorded = await syncOnce(
    { ...cluster.credentials, servers: listed, record: join(cluster.directory, 'recorded') },
    new AbortController().signal,
  );
  assert.equal(recorded.ok, true);

  const used = new Set<string>();
  for (const { method, url } of requests) {
    const info = parseRequestInfo(method, url);
    const allowing = permissions.filter(({ allows }) => allows(info));
    assert.ok(allowing.length > 0, `${method} ${url} is not allowed`);
    for (const { name } of allowing) used.add(name);
  }
  const unused = permissions.map(({ name }) => name).filter((name) => !used.has(name));
  // The example servers have the StorageVersion API off, as most clusters do: what cannot be listed is not watched.
  assert.deepEqual(unused, ['watch internal.apiserver.k8s.io/storageversions in all namespaces']);
});
