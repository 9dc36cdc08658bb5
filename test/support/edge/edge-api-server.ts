import type { ServerResponse } from 'node:http';
import type { Answer } from '../api-server-double.ts';

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/** The token that such a server lets in. */
export const syncToken = 'of-the-sync-job';

/** The answers of an API server that serves these resources, to whoever shows the token. */
export function apiServer(groups: Readonly<Record<string, string>>): Answer {
  return ({ url = '', headers }, outgoing) => {
    const [path] = url.split('?');
    const isCore = path === '/api';
    if (headers.authorization !== `Bearer ${syncToken}`) return void outgoing.writeHead(401).end();
    if (path === '/version') return json(outgoing, 'application/json', { gitVersion: 'v1.36.0' });
    if (path !== '/api' && path !== '/apis') {
      const isList = path?.endsWith('/apiservices') || path?.endsWith('/customresourcedefinitions');
      if (isList) return json(outgoing, 'application/json', { items: [] });
      outgoing.writeHead(404, { 'content-type': 'application/json' });
      return void outgoing.end(JSON.stringify({ kind: 'Status', code: 404 }));
    }
    const items = Object.entries(groups)
      .filter(([group]) => (group === '') === isCore)
      .map(([group, resource]) => ({
        metadata: { name: group },
        versions: [{ version: 'v1', resources: [discovered(resource)] }],
      }));
    json(outgoing, aggregated, {
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
      items,
    });
  };
}

function discovered(resource: string) {
  return {
    resource,
    responseKind: { group: '', version: 'v1', kind: resource },
    scope: 'Namespaced',
    singularResource: resource,
    verbs: ['get', 'list'],
  };
}

function json(outgoing: ServerResponse, type: string, value: object): void {
  outgoing.writeHead(200, { 'content-type': type });
  outgoing.end(JSON.stringify(value));
}
