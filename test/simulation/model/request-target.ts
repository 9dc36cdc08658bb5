import type { ArrivedRequest } from './network.ts';

/** Target of a request, as an API server reads it. */
export interface TargetedRequest {
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  /** Empty: the collection. */
  readonly name: string;
  readonly isWatch: boolean;
  /** Resource version that a watch begins after; 0: with everything. */
  readonly from: number;
  /** Milliseconds; `Infinity`: none was given. */
  readonly lifetime: number;
  readonly isWrite: boolean;
  /** Needs etcd. */
  readonly isStored: boolean;
  /** A label selector that no object here has. */
  readonly selectsNothing: boolean;
}

const pattern = /^\/(?:api|apis\/([^/]+))\/(v[^/]+)(?:\/namespaces\/[^/]+)?\/([^/]+)(?:\/([^/]+))?$/;

const known = new Map<string, TargetedRequest>();

export function requestOf({ method, target }: ArrivedRequest): TargetedRequest {
  const key = `${method} ${target}`;
  const found = known.get(key) ?? newRequest(method, target);
  // Resource versions make ever new ones.
  if (known.size > 500) known.clear();
  known.set(key, found);
  return found;
}

function newRequest(method: string, target: string): TargetedRequest {
  const [path = '', search = ''] = target.split('?', 2);
  const [, group = '', version = '', resource = '', name = ''] = pattern.exec(path) ?? [];
  const query = new URLSearchParams(search);
  const isWatch = query.get('watch') === 'true';
  const seconds = Number(query.get('timeoutSeconds') ?? Number.POSITIVE_INFINITY);
  return {
    path,
    group,
    version,
    resource,
    name,
    isWatch,
    from: Number(query.get('resourceVersion') ?? 0),
    lifetime: seconds * 1000,
    isWrite: method !== 'GET',
    isStored: resource !== '' && !isWatch,
    selectsNothing: query.get('labelSelector')?.startsWith('k8s.io/component') === true,
  };
}
