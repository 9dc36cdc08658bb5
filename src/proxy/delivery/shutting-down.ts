import { firstHeader } from '../../apimachinery/raw-headers.ts';
import type { AdmittedRequest } from '../../request/router.ts';
import type { ResponseHead } from '../../request/transport.ts';
import { mayBeDenied, passedOn } from './not-served.ts';

/**
 * What kube-apiserver responds with once it waits for its last requests, to every other one and before it looks at it
 * (k8s.io/apiserver pkg/server/filters/waitgroup.go; seen of 1.31 and 1.36).
 */
export const shuttingDownStatus =
  '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"apiserver is shutting down","reason":"ServiceUnavailable","code":503}\n\n';

/** Given in place of the server's own response, of which it is a copy, so that another server can be asked. */
export class ShuttingDownResponse extends Response {
  constructor() {
    super(shuttingDownStatus, {
      status: 503,
      headers: {
        'content-type': 'application/json',
        'retry-after': '1',
        'x-content-type-options': 'nosniff',
      },
    });
  }
}

/**
 * The response that takes the place of that one, known by its head alone; `undefined` for any other. What a kubelet or
 * an application has said is not a server's word about itself.
 */
export function refusalOfServerThatEnds(
  { decision, requestInfo }: Pick<AdmittedRequest, 'decision' | 'requestInfo'>,
  { status, headers }: ResponseHead,
): ShuttingDownResponse | undefined {
  if (status !== 503 || !mayBeDenied(decision) || passedOn.has(requestInfo.subresource)) return undefined;
  if (firstHeader(headers, 'retry-after') !== '1') return undefined;
  if (!/^application\/json *(;|$)/i.test(firstHeader(headers, 'content-type') ?? '')) return undefined;
  if (firstHeader(headers, 'content-length') !== String(shuttingDownStatus.length)) return undefined;
  return new ShuttingDownResponse();
}
