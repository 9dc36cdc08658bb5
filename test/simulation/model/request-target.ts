import type { ArrivedRequest } from './network.ts';
import type { StoredObject } from './store.ts';

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
  /** `key=value` of a label selector; `undefined`: all objects. */
  readonly selector: string | undefined;
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
    selector: query.get('labelSelector') ?? undefined,
  };
}

export function isSelected({ selector }: TargetedRequest, { metadata }: StoredObject): boolean {
  if (selector === undefined) return true;
  const labels = (metadata['labels'] ?? {}) as Readonly<Record<string, string>>;
  return Object.entries(labels).some(([key, value]) => `${key}=${value}` === selector);
}
