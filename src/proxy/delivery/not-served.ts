import { firstHeader } from '../../apimachinery/raw-headers.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import type { AdmittedRequest } from '../../request/router.ts';
import type { ResponseHead } from '../../request/transport.ts';
import type { Decision } from '../../routing/decision.ts';
import { isNotServedStatus, notServedStatus, objectNotFoundStatus } from './not-served-status.ts';

/** What Go's `http.NotFound` writes, and with it an API server that has nothing under a path. */
const body = '404 page not found\n';

/**
 * A server's word that it has no such path, although the snapshot says that it serves the resource: it was
 * upgraded, or restarted with other flags, since. Given in place of the server's own response, of which it is a copy.
 */
export class NotServedResponse extends Response {
  /** False where, by its length, it may as well say that the object does not exist. */
  readonly isCertain: boolean;

  /** @param status of the response, where it was one; in protobuf it is given in JSON, which every client reads too. */
  constructor(status?: string, isCertain = true) {
    super(status ?? body, {
      status: 404,
      headers:
        status === undefined
          ? { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
          : { 'content-type': 'application/json' },
    });
    this.isCertain = isCertain;
  }
}

/**
 * The response that takes the place of one which contradicts the decision; `undefined` for any other.
 *
 * A server that has nothing under a group responds with the plain text of its mux, known by its length
 * (k8s.io/apiserver pkg/server/mux/pathrecorder.go). Under a group that it has in another version it responds with a
 * Status, as for an object that does not exist. Either is given before anything is carried out, of a write too.
 * The response of the subresource `proxy` is that of an application.
 */
export function contradictionOfSnapshot(
  { decision, requestInfo }: Pick<AdmittedRequest, 'decision' | 'requestInfo'>,
  { status, headers }: ResponseHead,
): NotServedResponse | undefined {
  if (status !== 404 || !mayBeDenied(decision)) return undefined;
  if (requestInfo.subresource === 'proxy') return undefined;
  const contentType = firstHeader(headers, 'content-type') ?? '';
  const length = firstHeader(headers, 'content-length') ?? '';
  if (/^text\/plain *(;|$)/i.test(contentType)) {
    return length === String(body.length) ? new NotServedResponse() : undefined;
  }
  switch (isNotServedStatus(requestInfo, contentType, length)) {
    case 'yes':
      return new NotServedResponse(notServedStatus);
    case 'perhaps':
      return new NotServedResponse(objectNotFoundStatus(requestInfo), false);
    case 'no':
      return undefined;
  }
}

/** Whether the servers asked should have the resource, by the snapshot. */
export function mayBeDenied(decision: Decision): boolean {
  const { reason } = decision;
  if (reason === 'ServedLocally' || reason === 'ServedByPeer' || reason === 'PreferredVersion') return true;
  // A resource that no server serves goes to any peer that is up, whose 404 is right.
  return decision.decision === 'peer' && decision.inPlaceOf === 'ServedLocally';
}

/** Not knowing is not the same as not existing: the next snapshot tells. */
export function servedSetsChanging(retryAfterSeconds: number): Response {
  return statusResponse(
    'ServiceUnavailable',
    'what the API servers serve is changing, and it is not known yet which of them serves this resource, please try again; the request was not carried out',
    { retryAfterSeconds },
  );
}
