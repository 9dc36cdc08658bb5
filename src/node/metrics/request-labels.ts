import type { RequestInfo } from '../../apimachinery/request-info.ts';
import { type RequestKind, requestKindOf } from '../../proxy/in-flight/request-kind.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { otherLabel } from './metric-family.ts';

/** Label values of one request, each from a bounded set. */
export interface RequestLabels {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly scope: string;
  readonly kind: RequestKind;
}

/** kube-apiserver's `verb` label (k8s.io/apiserver pkg/endpoints/metrics, CanonicalVerb). */
const verbs: ReadonlyMap<string, string> = new Map([
  ['get', 'GET'],
  ['head', 'HEAD'],
  ['list', 'LIST'],
  ['watch', 'WATCH'],
  ['create', 'POST'],
  ['post', 'POST'],
  ['update', 'PUT'],
  ['put', 'PUT'],
  ['patch', 'PATCH'],
  ['delete', 'DELETE'],
  ['deletecollection', 'DELETECOLLECTION'],
  ['proxy', 'CONNECT'],
  ['connect', 'CONNECT'],
  ['options', 'OPTIONS'],
]);

const connecting: ReadonlySet<string> = new Set(['attach', 'exec', 'portforward', 'proxy']);

/** Subresources of Kubernetes. The snapshot cannot bound them: for some resources it has none, and any is possible. */
const subresources: ReadonlySet<string> = new Set([
  'approval',
  'attach',
  'binding',
  'ephemeralcontainers',
  'eviction',
  'exec',
  'finalize',
  'log',
  'portforward',
  'proxy',
  'resize',
  'scale',
  'status',
  'token',
]);

/**
 * The labels of a request. Group, version and resource are only used if the snapshot has them: a client must not be able
 * to create series with names that do not exist. Pure.
 */
export function requestLabels(requestInfo: RequestInfo, table: RoutingTable | undefined): RequestLabels {
  const { isResourceRequest, subresource } = requestInfo;
  const verb = connecting.has(subresource) ? 'CONNECT' : (verbs.get(requestInfo.verb) ?? otherLabel);
  const kind = requestKindOf(requestInfo);
  if (!isResourceRequest) return { verb, kind, ...namesNoResource };
  return {
    verb,
    kind,
    ...knownResource(requestInfo, table),
    subresource: subresource === '' || subresources.has(subresource) ? subresource : otherLabel,
    scope: scopeOf(requestInfo),
  };
}

/** The labels of a request whose target was refused. */
export const labelsOfRefused: RequestLabels = {
  verb: otherLabel,
  kind: 'readOnly',
  group: '',
  version: '',
  resource: '',
  subresource: '',
  scope: '',
};

const namesNoResource = { group: '', version: '', resource: '', subresource: '', scope: '' };

function knownResource(
  { apiGroup, apiVersion, resource }: RequestInfo,
  table: RoutingTable | undefined,
): Pick<RequestLabels, 'group' | 'version' | 'resource'> {
  if (table?.resource(apiGroup, apiVersion, resource) !== undefined) {
    return { group: apiGroup, version: apiVersion, resource };
  }
  // For custom resources and extension APIs the snapshot may only have the group version.
  const knowsGroup =
    table?.isCustomResource(apiGroup, apiVersion) === true ||
    table?.extension(apiGroup, apiVersion) !== undefined;
  return knowsGroup
    ? { group: apiGroup, version: apiVersion, resource: otherLabel }
    : { group: otherLabel, version: otherLabel, resource: otherLabel };
}

/** kube-apiserver's `scope` (CleanScope): whether a request names an object, a namespace, or neither. */
export function scopeOf({ name, namespace }: RequestInfo): 'resource' | 'namespace' | 'cluster' {
  if (name !== '') return 'resource';
  return namespace === '' ? 'cluster' : 'namespace';
}

const codes = new Map(Array.from({ length: 500 }, (_, index) => [index + 100, String(index + 100)]));

/** A status code as a label; `other` for an invalid status. */
export function codeLabel(status: number): string {
  return codes.get(status) ?? otherLabel;
}
