import { firstHeader } from '../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { AdmittedRequest } from '../request/router.ts';
import type { OutboundRequest, Refusal, ResponseHead } from '../request/transport.ts';
import { isClusterPath } from '../routing/decide.ts';
import type { Decision, DecisionReason } from '../routing/decision.ts';
import { unavailable } from './undelivered.ts';

/**
 * What kube-apiserver responds with once it waits for its last requests, to every other one and before it looks at it
 * (k8s.io/apiserver pkg/server/filters/waitgroup.go; seen of 1.31 and 1.36).
 */
export const shuttingDownStatus =
  '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"apiserver is shutting down","reason":"ServiceUnavailable","code":503}\n\n';

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

function refusalWith(response: Response): Refusal {
  return { kind: 'refusal', reason: 'Unavailable', isCertain: true, response };
}

/**
 * What takes the place of the response of a server that ends, of which it is a copy, or of a peer's router whose server
 * received nothing; known by its head alone. What a kubelet or an application has said is not a server's word about itself.
 *
 * That word counts for exec, attach and port-forward, too: RFC 9110 section 9.2.2 lets a request that is not idempotent be
 * sent again where the first one was provably not applied, and of the client's stream nothing is sent before a 101.
 */
export function refusalOfUnavailableServer(
  { decision, requestInfo }: Pick<AdmittedRequest, 'decision' | 'requestInfo'>,
  { status, headers }: ResponseHead,
): Refusal | undefined {
  if (status !== 503) return undefined;
  // Else the head is an extension server's.
  const isServers =
    isServedBySnapshot(decision) || ['CustomResource', 'MergedDocument'].includes(reasonOf(decision));
  const { subresource } = requestInfo;
  if (!isServers || subresource === 'proxy') return undefined;
  if (firstHeader(headers, proxyStatusHeader) === destinationUnavailable) {
    return refusalWith(unavailable('ServerNotReady'));
  }
  if (passedOn.has(subresource)) return undefined;
  if (firstHeader(headers, 'retry-after') !== '1') return undefined;
  if (!/^application\/json *(;|$)/i.test(firstHeader(headers, 'content-type') ?? '')) return undefined;
  if (firstHeader(headers, 'content-length') !== String(shuttingDownStatus.length)) return undefined;
  const copied = {
    'content-type': 'application/json',
    'retry-after': '1',
    'x-content-type-options': 'nosniff',
  };
  return refusalWith(new Response(shuttingDownStatus, { status, headers: copied }));
}

type NamedRequest = Pick<RequestInfo, 'apiGroup' | 'resource' | 'subresource' | 'name'>;

/**
 * The response of an API server under a path of a group that it has, or of the core group, when the version or the
 * resource is not there (seen of 1.25 and 1.33; k8s.io/apiserver pkg/endpoints/handlers/responsewriters). There is
 * nothing in it of the request, so each form has one length.
 */
export const notServedStatus =
  '{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}\n';

const notServedProtobufLength = 116;
/** The part of a NotFound Status in protobuf that is the same for every object (k8s.io/apimachinery meta/v1 generated.proto). */
const namedProtobufLength = 68;

export const passedOn: ReadonlySet<string> = new Set(['attach', 'exec', 'log', 'portforward', 'proxy']);

/** Names whose length in bytes, in JSON too, is that of the text. */
const plainName = /^[A-Za-z0-9.:_-]*$/;

/**
 * Whether a 404 is that Status, by its length. `perhaps` where the Status which says that the object does not exist is just as
 * long: in protobuf with one length of name for each resource. Pretty-printed JSON and YAML are not looked at: who asks for
 * them is a person.
 */
export function isNotServedStatus(
  request: NamedRequest,
  contentType: string,
  length: string,
): 'yes' | 'perhaps' | 'no' {
  if (passedOn.has(request.subresource) || !plainName.test(request.name)) return 'no';
  const isJson = /^application\/json *(;|$)/i.test(contentType);
  if (!isJson && !/^application\/vnd\.kubernetes\.protobuf *(;|$)/i.test(contentType)) return 'no';
  const expected = isJson ? notServedStatus.length : notServedProtobufLength;
  if (length !== String(expected)) return 'no';
  if (request.name === '') return 'yes';
  return expected === (isJson ? objectNotFoundStatus(request).length : objectProtobufLength(request))
    ? 'perhaps'
    : 'yes';
}

/** k8s.io/apimachinery pkg/api/errors, NewNotFound. */
function objectMessage({ apiGroup, resource, name }: NamedRequest): string {
  return `${apiGroup === '' ? resource : `${resource}.${apiGroup}`} "${name}" not found`;
}

function objectNotFoundStatus(request: NamedRequest): string {
  const { apiGroup, resource, name } = request;
  const status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: objectMessage(request),
    reason: 'NotFound',
    details: { name, ...(apiGroup === '' ? {} : { group: apiGroup }), kind: resource },
    code: 404,
  };
  return `${JSON.stringify(status)}\n`;
}

function objectProtobufLength(request: NamedRequest): number {
  const { apiGroup, resource, name } = request;
  return (
    namedProtobufLength + objectMessage(request).length + name.length + apiGroup.length + resource.length
  );
}

/** What Go's `http.NotFound` writes, and with it an API server that has nothing under a path. */
const body = '404 page not found\n';

/** @param status of the response, where it was one; in protobuf it is given in JSON, which every client reads too. */
function notServed(status?: string, isCertain = true): Refusal {
  const headers: Record<string, string> =
    status === undefined
      ? { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' }
      : { 'content-type': 'application/json' };
  const response = new Response(status ?? body, { status: 404, headers });
  return { kind: 'refusal', reason: 'NotServed', isCertain, response };
}

/**
 * What takes the place of a response by which a server says that it does not serve the path; `undefined` for any other.
 *
 * A server that has nothing under a group responds with the plain text of its mux, known by its length
 * (k8s.io/apiserver pkg/server/mux/pathrecorder.go). Under a group that it has in another version it responds with a Status,
 * as for an object that does not exist. Either is given before anything is carried out, of a write too.
 */
export function refusalOfNotServed(
  { requestInfo }: Pick<AdmittedRequest, 'requestInfo'>,
  { othersMayServe }: Pick<OutboundRequest, 'othersMayServe'>,
  { status, headers }: ResponseHead,
): Refusal | undefined {
  if (status !== 404 || othersMayServe !== true) return undefined;
  if (requestInfo.subresource === 'proxy') return undefined;
  const contentType = firstHeader(headers, 'content-type') ?? '';
  const length = firstHeader(headers, 'content-length') ?? '';
  // Of documents the aggregator says so without a word (k8s.io/kube-aggregator pkg/controllers/openapiv3/aggregator).
  if (length === '0' && requestInfo.path.startsWith('/openapi/v3/')) {
    return { ...notServed(), response: new Response(null, { status }) };
  }
  if (/^text\/plain *(;|$)/i.test(contentType)) {
    return length === String(body.length) ? notServed() : undefined;
  }
  switch (isNotServedStatus(requestInfo, contentType, length)) {
    case 'yes':
      return notServed(notServedStatus);
    case 'perhaps':
      return notServed(objectNotFoundStatus(requestInfo), false);
    case 'no':
      return undefined;
  }
}

export function isServedBySnapshot(decision: Decision): boolean {
  const reason = reasonOf(decision);
  return reason === 'ServedLocally' || reason === 'ServedByPeer' || reason === 'PreferredVersion';
}

/** What is the same for all servers: rules 1, 5, 6 and 9 of the decision. */
const everybodys: ReadonlySet<DecisionReason> = new Set([
  'NotAResourceRequest',
  'MergedDocument',
  'ExtensionAPIServer',
  'CustomResource',
  'NotServedByAnyServer',
]);

/** Whether any server's word counts as everybody's, though one may know a new definition before another does. */
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
