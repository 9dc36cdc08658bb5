import { allHeaders, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../../apimachinery/request-info.ts';
import { carriesRerouteMark } from '../../request/header-hygiene.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { Caller } from '../../request/user-info.ts';

/** Where a request stands in a trace, as its headers say (W3C Trace Context, sections 3.2 and 3.3). */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** 16 lower-case hexadecimal digits, not all zero. */
  readonly spanId: string;
  /** One byte; bit 0: sampled. */
  readonly traceFlags: number;
  /** The `tracestate` lines joined; empty when there are none. */
  readonly traceState: string;
}

const traceparent = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** The trace context of a request; `undefined` where there is none, or none that can be read. Pure. */
export function readTraceContext(headers: RawHeaders): TraceContext | undefined {
  const [parent, ...others] = allHeaders(headers, 'traceparent');
  // Of several, none can be believed (section 3.2: exactly one).
  if (parent === undefined || others.length > 0) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', rest] = traceparent.exec(parent.trim()) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined;
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    traceState: allHeaders(headers, 'tracestate').join(','),
  };
}

/** The header lines that say where a request stands in a trace. Pure. */
export function traceContextLines({ traceId, spanId, traceFlags, traceState }: TraceContext): string[] {
  // Bit 0 is all that version 00 defines; others must be zero when a context is made anew (section 3.2.2.5.2).
  const flags = (traceFlags & 1) === 1 ? '01' : '00';
  const lines = ['traceparent', `00-${traceId}-${spanId}-${flags}`];
  if (traceState !== '') lines.push('tracestate', traceState);
  return lines;
}

/** Whose trace contexts kube-apiserver goes on with (k8s.io/apiserver pkg/endpoints/filters/traces.go). */
const trustedGroups: ReadonlySet<string> = new Set(['system:masters', 'system:monitoring']);

/**
 * Whether this request's own trace is gone on with, and its sampling obeyed: anyone could otherwise have all their
 * requests traced, or write into a trace of somebody else. As upstream privileged groups may; so may a peer that has
 * rerouted the request, since its router has judged already. Pure.
 */
export function isTraceContextTrusted(inbound: InboundRequest, caller: Caller): boolean {
  if (caller.kind !== 'authenticated') return false;
  if (caller.viaVerifiedPeer && carriesRerouteMark(inbound.headers)) return true;
  return caller.user.groups.some((group) => trustedGroups.has(group));
}

/**
 * The path of a request with its names left out, as kube-apiserver names its spans
 * (k8s.io/apiserver pkg/endpoints/filters/traces.go, getSpanNameFromRequestInfo); `undefined` for requests that name
 * no resource, whose paths have no bound. Pure.
 */
export function routeTemplate(requestInfo: RequestInfo): string | undefined {
  const { isResourceRequest, apiPrefix, apiGroup, apiVersion, namespace, resource, name, subresource } =
    requestInfo;
  if (!isResourceRequest) return undefined;
  const group = apiGroup === '' ? '' : `/${apiGroup}`;
  const scope = namespace === '' ? '' : '/namespaces/{:namespace}';
  const object = name === '' ? '' : '/{:name}';
  const below = subresource === '' ? '' : `/${subresource}`;
  return `/${apiPrefix}${group}/${apiVersion}${scope}/${resource}${object}${below}`;
}

/** `GET /apis/apps/v1/namespaces/{:namespace}/deployments/{:name}`, or the method alone. Pure. */
export function spanName(method: string, requestInfo: RequestInfo | undefined): string {
  const route = requestInfo && routeTemplate(requestInfo);
  return route === undefined ? method : `${method} ${route}`;
}
