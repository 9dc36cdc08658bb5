import type { RequestInfo } from '../../apimachinery/request-info.ts';

/**
 * The path of a request with its names left out, as kube-apiserver names its spans
 * (k8s.io/apiserver pkg/endpoints/filters/traces.go, getSpanNameFromRequestInfo); `undefined` for requests that name
 * no resource, whose paths have no bound. Pure.
 */
export function routeTemplate(requestInfo: RequestInfo): string | undefined {
  const { isResourceRequest, apiPrefix, apiGroup, apiVersion, namespace, resource, name, subresource } =
    requestInfo;
  if (!isResourceRequest) return undefined;
  const group = apiGroup === '' ? '' : `/${apiGroup}`;
  const scope = namespace === '' ? '' : '/namespaces/{:namespace}';
  const object = name === '' ? '' : '/{:name}';
  const below = subresource === '' ? '' : `/${subresource}`;
  return `/${apiPrefix}${group}/${apiVersion}${scope}/${resource}${object}${below}`;
}

/** `GET /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}`, or the method alone. Pure. */
export function spanName(method: string, requestInfo: RequestInfo | undefined): string {
  const route = requestInfo && routeTemplate(requestInfo);
  return route === undefined ? method : `${method} ${route}`;
}
