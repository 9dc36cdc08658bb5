import { allHeaders } from '../apimachinery/raw-headers.ts';
import { statusResponse } from '../apimachinery/status.ts';
import type { Destination } from '../request/destination.ts';
import { cleanResponseHeaders, withAuditIdForClient } from '../request/headers.ts';
import type { OtherVersion } from '../request/inbound.ts';
import type { AdmittedRequest, Router } from './admitted-request.ts';
import {
  type OutboundRequest,
  type Outcome,
  ownResponse,
  type Refusal,
  type ResponseHead,
  type ResponseToSend,
  type Transport,
} from '../request/transport.ts';
import { contentToJudge, judge } from './judge-response.ts';
import { unavailable } from './unavailable.ts';

interface ForwardOptions {
  /**
   * The response is read here, and what the client gets is made of it: the entity tag of what has been read of a
   * destination before, with which it says whether that is still current.
   */
  readonly ifNoneMatch?: ((destination: Destination) => string | undefined) | undefined;
  /** No other server need be asked whether it has what one denies to have: that is known. Default false. */
  readonly believesNotFound?: boolean;
}

/**
 * Sends an admitted request where its decision says and passes the response on, streamed and untouched for every code,
 * unless it redirects the client to another server, or is a 404 that proves nothing.
 */
export function forward(
  request: AdmittedRequest,
  router: Pick<Router, 'deliver'>,
  transport: Transport,
  { ifNoneMatch, believesNotFound = false }: ForwardOptions = {},
): Promise<Outcome> {
  const { inbound } = request;
  const { record } = inbound;
  return router.deliver(request, (outbound) => {
    const etag = ifNoneMatch?.(outbound.destination);
    const sent =
      etag === undefined ? outbound : { ...outbound, headers: [...outbound.headers, 'if-none-match', etag] };
    const dispose = (head: ResponseHead, content?: Uint8Array) => {
      const instead = head.status < 300 ? undefined : inPlaceOf(request, judged, head, content);
      if (instead !== undefined) return { kind: 'replace', outcome: instead } as const;
      const headers = withAuditIdForClient(cleanResponseHeaders(head.headers), inbound);
      const { otherVersion } = inbound;
      if (otherVersion !== undefined) headers.push('warning', versionWarning(otherVersion));
      return { kind: 'forward', headers, record: ifNoneMatch === undefined ? record : undefined } as const;
    };
    const judged = believesNotFound ? { ...outbound, othersMayServe: false } : outbound;
    return transport.send(sent, inbound, (head) => {
      record?.attemptEnded(head.status);
      const length = head.status < 400 ? undefined : contentToJudge(request, judged, head);
      if (length === undefined) return dispose(head);
      return { kind: 'read', length, judge: (content) => dispose(head, content) };
    });
  });
}

/**
 * What takes the place of a destination's response; `undefined` passes it on. A refusal is a reason to ask another server,
 * which `Router.deliver` does.
 */
function inPlaceOf(
  request: AdmittedRequest,
  outbound: OutboundRequest,
  head: ResponseHead,
  content: Uint8Array | undefined,
): ResponseToSend | Refusal | undefined {
  const refusal = judge(request, outbound, head, content);
  if (refusal !== undefined) return refusal;
  if (provesNothing(request, head.status)) return ownResponse(unavailable('NoSnapshot'));
  return refuseRedirect(request, outbound.destination, head);
}

/** While there has been no snapshot, a 404 of the local server for a resource path proves nothing. */
export function provesNothing({ decision }: Pick<AdmittedRequest, 'decision'>, status: number): boolean {
  return status === 404 && decision.reason === 'NoSnapshot';
}

/**
 * The warning about a response that came from a server of another version than the cluster shows. `kubectl` and client-go
 * print it (RFC 7234 section 5.5, KEP-1693; 299 is their one code).
 */
export function versionWarning({ minor, isOlder }: OtherVersion): string {
  const version =
    minor === undefined ? 'an API server of unknown version' : `an API server of version ${minor}`;
  const consequence = isOlder
    ? 'fields that it does not know are missing from this response, and from what is written through it'
    : 'others may drop fields of it that they do not know';
  return `299 - "no API server of the version that should respond can be reached: ${version} responded, and ${consequence}"`;
}

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
function refuseRedirect(
  request: AdmittedRequest,
  destination: Destination,
  head: ResponseHead,
): ResponseToSend | undefined {
  if (head.status < 300 || head.status > 399 || destination.kind === 'local') return undefined;
  if (head.status === 304) return undefined;
  if (request.requestInfo.subresource === 'proxy') return undefined;
  if (allHeaders(head.headers, 'location').every((location) => pathOnly.test(location))) return undefined;
  const text =
    'the API server that serves this resource attempted to redirect this request to another server, which is not permitted';
  return ownResponse(statusResponse('ServiceUnavailable', text));
}

interface DeclinedUpgrade {
  /** In place of the destination's response; `undefined` passes it on. */
  readonly instead: ResponseToSend | Refusal | undefined;
  /** Of the destination's response, where it was read. */
  readonly content: Uint8Array<ArrayBuffer> | undefined;
}

/**
 * Judges a destination's response that declines an upgrade. Of a redirect nothing is followed or passed on
 * (CVE-2020-8559).
 * @param read reads its whole content, which is short
 */
export async function judgeDeclinedUpgrade(
  request: AdmittedRequest,
  outbound: OutboundRequest,
  head: ResponseHead,
  read: () => Promise<Uint8Array<ArrayBuffer>>,
): Promise<DeclinedUpgrade> {
  const { status } = head;
  if (provesNothing(request, status)) {
    return { instead: ownResponse(unavailable('NoSnapshot')), content: undefined };
  }
  const content = contentToJudge(request, outbound, head) === undefined ? undefined : await read();
  const refusal = judge(request, outbound, head, content);
  if (refusal !== undefined || status < 300 || status > 399) return { instead: refusal, content };
  const message = 'the API server that serves this resource responded to the upgrade with a redirect';
  return { instead: ownResponse(statusResponse('ServiceUnavailable', message)), content };
}
