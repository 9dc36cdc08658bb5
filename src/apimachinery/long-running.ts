import type { RequestInfo } from './request-info.ts';

// kube-apiserver's setting (kubernetes pkg/controlplane/apiserver/config.go).
const longRunningVerbs = new Set(['watch', 'proxy']);
const longRunningSubresources = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);

/**
 * kube-apiserver exempts it from the request timeout and from the limits on requests in flight
 * (k8s.io/apiserver pkg/server/filters/longrunning.go). Profiles, which are no resources, count too.
 */
export function isLongRunning(requestInfo: RequestInfo): boolean {
  if (longRunningVerbs.has(requestInfo.verb)) return true;
  return requestInfo.isResourceRequest
    ? longRunningSubresources.has(requestInfo.subresource)
    : requestInfo.path.startsWith('/debug/pprof/');
}
