import { allHeaders, firstHeader } from '../apimachinery/raw-headers.ts';
import { statusResponse } from '../apimachinery/status.ts';
import { kubeletSubresources } from '../apimachinery/subresources.ts';
import type { Destination } from '../request/destination.ts';
import {
  type OutboundRequest,
  ownResponse,
  type Refusal,
  type ResponseHead,
  type ResponseToSend,
} from '../request/transport.ts';
import { isClusterPath } from '../routing/decide.ts';
import type { Decision, DecisionReason } from '../routing/decision.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { unavailable } from './unavailable.ts';

const proxyStatusHeader = 'proxy-status';
/** RFC 9209 section 2.3.2: the intermediary takes the next hop for unavailable, and has sent it nothing. */
const destinationUnavailable = 'mixed-version-proxy; error=destination_unavailable';

/**
 * Tells the router that has rerouted a request here that this one's server received nothing of it, so that another
 * server can be asked, for writes too. Clients are not told: their way ends here.
 */
export function toldToPeer({ decision }: Pick<AdmittedRequest, 'decision'>, response: Response): Response {
  if (decision.reason === 'AlreadyRerouted') response.headers.set(proxyStatusHeader, destinationUnavailable);
  return response;
}

/** The refusal of a peer's router whose server received nothing. Otherwise the head is an extension server's. */
function refusalOfPeer({ decision, requestInfo }: JudgedRequest, head: ResponseHead): Refusal | undefined {
  if (head.status !== 503 || firstHeader(head.headers, proxyStatusHeader) !== destinationUnavailable) {
    return undefined;
  }
  const isServers =
    isServedBySnapshot(decision) || ['CustomResource', 'MergedDocument'].includes(reasonOf(decision));
  if (!isServers || requestInfo.subresource === 'proxy') return undefined;
  return { kind: 'refusal', reason: 'Unavailable', response: unavailable('ServerNotReady') };
}

/**
 * The response of kube-apiserver once it waits for its last requests, to every other one and before it looks at it
 * (k8s.io/apiserver pkg/server/filters/waitgroup.go; seen of 1.31 and 1.36).
 */
export const shuttingDownStatus =
  '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"apiserver is shutting down","reason":"ServiceUnavailable","code":503}\n\n';

/**
 * The response of an API server under a path of a group that it has, or of the core group, when the version or the
 * resource is not there (seen of 1.25 and 1.33; k8s.io/apiserver pkg/endpoints/handlers/responsewriters).
 */
export const notServedStatus =
  '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}\n';

/**
 * The responses of Go's `http.Error`, to a request that a filter has refused before anything looked at it: with
 * --shutdown-send-retry-after (k8s.io/apiserver pkg/server/filters/with_retry_after.go; OpenShift sets the flag), and of OpenShift's
 * servers that start (with_not_ready_patch.go, patch_optin_retry.go). Older ones have no full stop.
 */
const filtersTexts = [
  'is shutting down',
  "hasn't been fully initialized",
  "hasn't been fully initialized yet",
].flatMap((what) => ['', '.'].map((stop) => `The apiserver ${what}, please try again later${stop}\n`));

/** The response of Go's `http.NotFound`, and of an API server that has nothing under a path (pkg/server/mux/pathrecorder.go). */
const pageNotFound = '404 page not found\n';

const text = 'text/plain';
const json = 'application/json';

/** Responses by which a server says that it did nothing, each of one length. */
interface Word {
  readonly reason: Refusal['reason'];
  readonly statuses: readonly number[];
  readonly contentType: string;
  readonly length: number;
  /** In its content; of as many bytes there is no other with it. */
  readonly part: string;
}

const word = (
  reason: Word['reason'],
  statuses: readonly number[],
  contentType: string,
  part: string,
  length = part.length,
): Word => ({ reason, statuses, contentType, length, part });

const words: readonly Word[] = [
  word('Unavailable', [503], json, shuttingDownStatus),
  ...filtersTexts.map((each) => word('Unavailable', [429, 503], text, each)),
  word('NotServed', [404], text, pageNotFound),
  word('NotServed', [404], json, notServedStatus),
  // The same Status (k8s.io/apimachinery meta/v1 generated.proto).
  word(
    'NotServed',
    [404],
    'application/vnd.kubernetes.protobuf',
    '\x1a\x30the server could not find the requested resource\x22\x08NotFound',
    116,
  ),
];

type JudgedRequest = Pick<AdmittedRequest, 'decision' | 'requestInfo'> & {
  readonly inbound: Pick<AdmittedRequest['inbound'], 'method'>;
};

/** The responses that are a server's word about itself for this request, and have such a head. */
function possibleWords(
  { decision, requestInfo }: JudgedRequest,
  { othersMayServe }: Pick<OutboundRequest, 'othersMayServe'>,
  { status, headers }: ResponseHead,
): readonly Word[] {
  const { subresource } = requestInfo;
  // An application's response is not a server's word; and a request that was rerouted here ends here.
  if (subresource === 'proxy' || decision.reason === 'AlreadyRerouted') return [];
  if (status === 404 && othersMayServe !== true) return [];
  const contentType = /^[^ ;]*/.exec(firstHeader(headers, 'content-type') ?? '')?.[0].toLowerCase();
  // A kubelet's 404 for a container looks the same.
  if (status === 404 && contentType !== text && kubeletSubresources.has(subresource)) return [];
  const length = Number(firstHeader(headers, 'content-length'));
  return words.filter(
    (each) => each.length === length && each.contentType === contentType && each.statuses.includes(status),
  );
}

/** @returns bytes of content to read before the response is judged; `undefined` where the head says all */
export function contentToJudge(
  request: JudgedRequest,
  outbound: Pick<OutboundRequest, 'othersMayServe'>,
  head: ResponseHead,
): number | undefined {
  // Nothing can be read of it, and nothing is carried out for it: the head will do.
  if (request.inbound.method === 'HEAD') return undefined;
  return possibleWords(request, outbound, head)[0]?.length;
}

/**
 * The one place that says what came back, of an ordinary request: a refusal, which is a reason to ask another server; a response
 * that takes the place of the destination's; `undefined` passes the destination's on.
 * @param content of the response, where `contentToJudge` asks for it
 */
export function insteadOf(
  request: AdmittedRequest,
  outbound: OutboundRequest,
  head: ResponseHead,
  content?: Uint8Array,
): ResponseToSend | Refusal | undefined {
  const refusal = refusalIn(request, outbound, head, content);
  if (refusal !== undefined) return refusal;
  if (provesNothing(request, head.status)) return ownResponse(unavailable('NoSnapshot'));
  return refuseRedirect(request, outbound.destination, head);
}

interface DeclinedUpgrade {
  /** In place of the destination's response; `undefined` passes it on. */
  readonly instead: ResponseToSend | Refusal | undefined;
  /** Content of the destination's response, where it was read. */
  readonly content: Uint8Array<ArrayBuffer> | undefined;
}

/**
 * The same of a response that declines an upgrade. Of a redirect nothing is followed or passed on (CVE-2020-8559).
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
  const refusal = refusalIn(request, outbound, head, content);
  if (refusal !== undefined || status < 300 || status > 399) return { instead: refusal, content };
  const message = 'the API server that serves this resource responded to the upgrade with a redirect';
  return { instead: ownResponse(statusResponse('ServiceUnavailable', message)), content };
}

/** While there has been no snapshot, a 404 of the local server for a resource path proves nothing. */
export function provesNothing({ decision }: Pick<AdmittedRequest, 'decision'>, status: number): boolean {
  return status === 404 && decision.reason === 'NoSnapshot';
}

/**
 * A server's word that it did nothing, given before anything is carried out, of a write too; `undefined` for any other response. RFC
 * 9110 section 9.2.2 lets a request that is not idempotent be sent again where the first one was provably not applied; of an upgrade
 * nothing of the client's stream is sent before a 101.
 */
export function refusalIn(
  request: JudgedRequest,
  outbound: Pick<OutboundRequest, 'othersMayServe'>,
  head: ResponseHead,
  content?: Uint8Array,
): Refusal | undefined {
  const { status, headers } = head;
  const ofPeer = refusalOfPeer(request, head);
  if (ofPeer !== undefined) return ofPeer;
  // The aggregator says so of documents without a word (k8s.io/kube-aggregator pkg/controllers/openapiv3/aggregator).
  const isEmpty = status === 404 && firstHeader(headers, 'content-length') === '0';
  if (isEmpty && outbound.othersMayServe === true && request.requestInfo.path.startsWith('/openapi/v3/')) {
    return { kind: 'refusal', reason: 'NotServed', response: copyOf(head) };
  }
  const isHead = request.inbound.method === 'HEAD';
  const read = content && new TextDecoder('latin1').decode(content);
  const said = possibleWords(request, outbound, head).find(({ part }) => isHead || read?.includes(part));
  return said && { kind: 'refusal', reason: said.reason, response: copyOf(head, content) };
}

/** For a client for whom there is no other server. */
function copyOf({ status, headers }: ResponseHead, content?: Uint8Array): Response {
  const kept = new Headers();
  for (const name of ['content-type', 'retry-after', 'x-content-type-options']) {
    const value = firstHeader(headers, name);
    if (value !== undefined) kept.set(name, value);
  }
  return new Response(content && new Uint8Array(content), { status, headers: kept });
}

export function isServedBySnapshot(decision: Decision): boolean {
  const reason = reasonOf(decision);
  return reason === 'ServedLocally' || reason === 'ServedByPeer' || reason === 'PreferredVersion';
}

/** Reasons of decisions on what is the same for all servers: rules 1, 5, 6 and 9 of the decision. */
const everybodys: ReadonlySet<DecisionReason> = new Set([
  'NotAResourceRequest',
  'MergedDocument',
  'ExtensionAPIServer',
  'CustomResource',
  'NotServedByAnyServer',
]);

/** True if any server's word counts as everybody's, though one may know a new definition before another does. */
export function isEverybodys({
  decision,
  requestInfo,
}: Pick<AdmittedRequest, 'decision' | 'requestInfo'>): boolean {
  if (decision.decision !== 'local' && decision.decision !== 'peer') return false;
  return (
    everybodys.has(reasonOf(decision)) && (requestInfo.isResourceRequest || isClusterPath(requestInfo.path))
  );
}

export function reasonOf(decision: Decision): DecisionReason {
  if (decision.decision !== 'peer') return decision.reason;
  if (decision.versions?.ofEveryServer === true) return 'CustomResource';
  return decision.inPlaceOf ?? decision.reason;
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
