import { allHeaders } from '../../apimachinery/raw-headers.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import type { Destination } from '../../request/destination.ts';
import type { AdmittedRequest } from '../../request/router.ts';
import type { ResponseHead } from '../../request/transport.ts';

/**
 * A path on the server that was asked. Anything that some parser could take for another server is not one:
 * `//host`, `/\host`, a tab or newline that URL parsers cut out, text that only one of them percent-encodes.
 */
const pathOnly = /^\/(?![/\\])[!-~]*$/;

/**
 * The response in place of a redirect to another server; `undefined` passes the response on. A redirect is never followed
 * (CVE-2020-8559), and no server that the client did not choose may send its credentials elsewhere (CVE-2022-3172).
 *
 * - Local server: passes. The client meant to ask it.
 * - Peer: redirects to a path pass (OpenAPI documents by hash, missing trailing slashes). So does what it sends to the
 *   subresource `proxy`: there an application responds that the client chose.
 */
export function refuseRedirect(
  request: AdmittedRequest,
  destination: Destination,
  head: ResponseHead,
): Response | undefined {
  if (head.status < 300 || head.status > 399 || destination.kind === 'local') return undefined;
  if (head.status === 304) return undefined;
  if (request.requestInfo.subresource === 'proxy') return undefined;
  if (allHeaders(head.headers, 'location').every((location) => pathOnly.test(location))) return undefined;
  return statusResponse(
    'ServiceUnavailable',
    'the API server that serves this resource attempted to redirect this request to another server, which is not permitted',
  );
}
