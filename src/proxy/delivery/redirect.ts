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
 * The response in place of a redirect to another server; `undefined` passes the response on.
 *
 * A redirect is never followed (CVE-2020-8559), and a destination that the client did not choose may not send
 * the client, its credentials in hand, elsewhere: that is refused as kube-apiserver's aggregator refuses it
 * (CVE-2022-3172, `the backend attempted to redirect this request, which is not permitted`). Redirects of a peer to a
 * path are API servers' own business (OpenAPI documents by hash, missing trailing slashes) and pass, and 304 is no
 * redirect. An extension API server is not believed any: what it names is a path of the API server in front of it. The
 * router responds as the aggregator does, for every 3xx with a Location (k8s.io/apimachinery
 * pkg/util/proxy/upgradeaware.go, RejectForwardingRedirects). The local server is the one the client meant to ask: what it says passes. What a peer sends to
 * the subresource `proxy` is the word of an application that the client chose, as on every API server.
 */
export function refuseRedirect(
  request: AdmittedRequest,
  destination: Destination,
  head: ResponseHead,
): Response | undefined {
  if (head.status < 300 || head.status > 399 || destination.kind === 'local') return undefined;
  if (destination.kind === 'extension') {
    const isRedirect = allHeaders(head.headers, 'location').some((location) => location !== '');
    return isRedirect
      ? statusResponse(
          'BadGateway',
          'the extension API server attempted to redirect this request, which is not permitted',
        )
      : undefined;
  }
  if (head.status === 304) return undefined;
  if (destination.kind === 'peer' && request.requestInfo.subresource === 'proxy') return undefined;
  if (allHeaders(head.headers, 'location').every((location) => pathOnly.test(location))) return undefined;
  return statusResponse(
    'ServiceUnavailable',
    'the API server that serves this resource attempted to redirect this request to another server, which is not permitted',
  );
}
