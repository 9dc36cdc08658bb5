import { isLongRunning } from '../../apimachinery/long-running.ts';
import type { RequestInfo } from '../../apimachinery/request-info.ts';

/** As kube-apiserver's `request_kind` label has it, and what it does not count: requests without an end. */
export type RequestKind = 'readOnly' | 'mutating' | 'longRunning';

/** `get`, `list` and `watch` as kube-apiserver; and the methods that RFC 9110 section 9.2.1 calls safe. */
const readOnlyVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);

/** Which of the limits a request counts against (k8s.io/apiserver pkg/server/filters/maxinflight.go). Pure. */
export function requestKindOf(requestInfo: RequestInfo): RequestKind {
  if (isLongRunning(requestInfo)) return 'longRunning';
  return readOnlyVerbs.has(requestInfo.verb) ? 'readOnly' : 'mutating';
}
