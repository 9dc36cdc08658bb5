import { firstHeader } from '../apimachinery/raw-headers.ts';
import { statusResponse } from '../apimachinery/status.ts';
import type { AdmittedRequest } from './router.ts';
import type { ResponseHead } from './transport.ts';

/** What Go's `http.NotFound` writes, and with it an API server that has nothing under a path. */
const body = '404 page not found\n';

/**
 * A server's word that it has no such path, although the snapshot says that it serves the resource: it was
 * upgraded, or restarted with other flags, since. Given in place of the server's own answer, of which it is a copy.
 */
export class NotServedAnswer extends Response {
  constructor() {
    super(body, {
      status: 404,
      headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
    });
  }
}

/**
 * Whether the answer contradicts the decision. An object that does not exist is a Status, in the client's form; the
 * plain text, known by its length, is the mux's, which has no handler for the path (k8s.io/apiserver
 * pkg/server/mux/pathrecorder.go).
 * What the subresource `proxy` answers is the word of an application.
 */
export function deniesWhatSnapshotSays(
  { decision: { reason }, requestInfo }: Pick<AdmittedRequest, 'decision' | 'requestInfo'>,
  { status, headers }: ResponseHead,
): boolean {
  return (
    status === 404 &&
    (reason === 'ServedLocally' || reason === 'ServedByPeer') &&
    requestInfo.subresource !== 'proxy' &&
    /^text\/plain *(;|$)/i.test(firstHeader(headers, 'content-type') ?? '') &&
    firstHeader(headers, 'content-length') === String(body.length)
  );
}

/** Not knowing is not the same as not existing: the next snapshot tells. */
export function servedSetsChanging(retryAfterSeconds: number): Response {
  return statusResponse(
    'ServiceUnavailable',
    'what the API servers serve is changing, and it is not known yet which of them serves this resource, please try again; the request was not carried out',
    { retryAfterSeconds },
  );
}
