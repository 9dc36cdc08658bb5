import type { RequestInfo } from './request-info.ts';

/** A kubelet takes the connection over, and a command may run (kubernetes pkg/registry/core/pod/rest/subresources.go). */
export const streamingSubresources: ReadonlySet<string> = new Set(['attach', 'exec', 'portforward']);

/** Whatever the verb, the operation is CONNECT (k8s.io/apiserver pkg/endpoints/installer.go). */
export const connectSubresources: ReadonlySet<string> = new Set([...streamingSubresources, 'proxy']);

/** A kubelet's own response comes through. */
export const kubeletSubresources: ReadonlySet<string> = new Set([...streamingSubresources, 'log']);

// kube-apiserver's setting (kubernetes pkg/controlplane/apiserver/config.go).
const longRunningVerbs = new Set(['watch', 'proxy']);
const longRunningSubresources = new Set([...connectSubresources, ...kubeletSubresources]);

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
