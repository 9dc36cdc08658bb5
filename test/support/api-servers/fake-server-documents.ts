import {
  ReadError,
  type ServerDocument,
  type ServerDocuments,
} from '../../../src/sync/documents/server-documents.ts';

/** The response of a fake server under one path: JSON with status 200, a complete response, or a failure of its own. */
export type FakeResponse = object | (() => ServerDocument | Promise<ServerDocument>);

export interface FakeServer extends ServerDocuments {
  /** May be changed between reads. */
  readonly responses: Map<string, FakeResponse>;
  /** Path and query of every request, in order. */
  readonly asked: string[];
}

/** API server documents in memory. Any other path returns what kube-apiserver returns for an unknown one. */
export function fakeServer(responses: Readonly<Record<string, FakeResponse>>): FakeServer {
  const byPath = new Map(Object.entries(responses));
  const asked: string[] = [];
  return {
    responses: byPath,
    asked,
    async get(path, _accept, signal) {
      asked.push(path);
      signal?.throwIfAborted();
      const response = byPath.get(path.split('?', 1)[0] ?? '');
      if (response === undefined) return plainNotFound;
      return typeof response === 'function' ? response() : jsonDocument(response);
    },
  };
}

export function jsonDocument(value: unknown, status = 200): ServerDocument {
  return { status, contentType: 'application/json', body: JSON.stringify(value) };
}

/** The response of kube-apiserver's mux for an unregistered path. */
export const plainNotFound: ServerDocument = {
  status: 404,
  contentType: 'text/plain; charset=utf-8',
  body: '404 page not found\n',
};

/** Never responds, and ignores its signal. */
export const hangs: FakeResponse = () => new Promise<never>(() => {});

export const refusesConnections: FakeResponse = () => {
  throw new ReadError('Unreachable', 'connection refused');
};

const verbs = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];

/** One resource of classic discovery; `pods/log` is a subresource. */
function classicResource(name: string): object {
  return { name, singularName: '', namespaced: true, kind: `Kind${name.length}`, verbs };
}

/**
 * Classic discovery: `{ 'v1': ['pods', 'pods/log'], 'batch/v1': ['jobs'] }`.
 *
 * @param alsoListed group versions that `/apis` lists and the server does not serve
 */
export function classicResponses(
  served: Readonly<Record<string, readonly string[]>>,
  alsoListed: readonly string[] = [],
): Record<string, object> {
  const responses: Record<string, object> = {
    '/api': { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] },
    '/version': { major: '1', minor: '25', gitVersion: 'v1.25.0' },
    ...sharedObjects,
  };
  const groups = new Map<string, { groupVersion: string; version: string }[]>();
  for (const groupVersion of [...Object.keys(served), ...alsoListed]) {
    const [group, version] = groupVersion.split('/');
    if (group === undefined || version === undefined) continue;
    groups.set(group, [...(groups.get(group) ?? []), { groupVersion, version }]);
  }
  responses['/apis'] = {
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: [...groups].map(([name, versions]) => ({ name, versions, preferredVersion: versions[0] })),
  };
  for (const [groupVersion, resources] of Object.entries(served)) {
    const path = groupVersion.includes('/') ? `/apis/${groupVersion}` : `/api/${groupVersion}`;
    responses[path] = { kind: 'APIResourceList', groupVersion, resources: resources.map(classicResource) };
  }
  return responses;
}

/** No APIServices, no CustomResourceDefinitions. */
const sharedObjects: Record<string, object> = {
  '/apis/apiregistration.k8s.io/v1/apiservices': { kind: 'APIServiceList', items: [] },
  '/apis/apiextensions.k8s.io/v1/customresourcedefinitions': {
    kind: 'CustomResourceDefinitionList',
    items: [],
  },
};

/** A response of `/api` or `/apis` in aggregated form, v2. */
export function aggregatedResponse(groups: readonly object[]): () => ServerDocument {
  return () => ({
    status: 200,
    contentType: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    body: JSON.stringify({
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
      items: groups,
    }),
  });
}
