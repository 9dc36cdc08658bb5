import type { RequestInfo } from '../../apimachinery/request-info.ts';
import { type RequestKind, requestKindOf } from '../../proxy/in-flight/request-kind.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { otherLabel } from './metric-family.ts';

/** Label values of one request, from a bounded set each. */
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

/** Those of Kubernetes. A snapshot cannot bound them: where it knows no subresources, every name is possible. */
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
 * What a request is counted under. Group, version and resource stand as they are only where the snapshot knows
 * them: a client that asks for what does not exist must not be able to make series. Pure.
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

/** What a request is counted under whose target was refused before it was understood. */
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
  // Of custom resources and extension APIs the snapshot may know no more than the group version.
  const knowsGroup =
    table?.isCustomResource(apiGroup, apiVersion) === true ||
    table?.extension(apiGroup, apiVersion) !== undefined;
  return knowsGroup
    ? { group: apiGroup, version: apiVersion, resource: otherLabel }
    : { group: otherLabel, version: otherLabel, resource: otherLabel };
}

/** As kube-apiserver's `scope` (CleanScope): whether a request names an object, a namespace, or neither. */
export function scopeOf({ name, namespace }: RequestInfo): 'resource' | 'namespace' | 'cluster' {
  if (name !== '') return 'resource';
  return namespace === '' ? 'cluster' : 'namespace';
}

const codes = new Map(Array.from({ length: 500 }, (_, index) => [index + 100, String(index + 100)]));

/** A status code as a label; what no HTTP status can be is `other`. */
export function codeLabel(status: number): string {
  return codes.get(status) ?? otherLabel;
}
