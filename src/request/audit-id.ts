import { firstHeader, headerLines, type RawHeaders } from '../apimachinery/raw-headers.ts';
import type { InboundRequest } from './inbound.ts';

/** Kubernetes' own header, in requests and in responses (k8s.io/apiserver pkg/apis/audit, HeaderAuditID). */
export const auditIdHeader = 'Audit-ID';

/** Where upstream cuts an ID in its logs (k8s.io/apiserver pkg/audit/context.go, GetAuditIDTruncated). */
const acceptableId = /^[\w.:-]{1,64}$/;

/**
 * The ID of this request in log lines, and on upstream servers. Created on first use, so
 * that a request that is not logged costs nothing; from then on it travels with the request.
 *
 * As in kube-apiserver an ID counts from anyone (pkg/endpoints/filters/audit_init.go): a client's own tools
 * correlate by it, and the upstream API server would accept it anyway. It proves nothing. One that is long, or could
 * look like something else in a log, is replaced.
 */
export function auditIdOf(inbound: Pick<InboundRequest, 'headers' | 'auditId'>): string {
  if (inbound.auditId === undefined) {
    const given = firstHeader(inbound.headers, auditIdHeader);
    inbound.auditId = given !== undefined && acceptableId.test(given) ? given : crypto.randomUUID();
  }
  return inbound.auditId;
}

/** Header lines of a request on its way out: with its audit ID, and no other, once it has one. */
export function withAuditIdForDestination(headers: RawHeaders, { auditId }: InboundRequest): RawHeaders {
  if (auditId === undefined) return headers;
  const lines: string[] = [];
  for (const [name, value] of headerLines(headers)) {
    if (name.toLowerCase() !== 'audit-id') lines.push(name, value);
  }
  lines.push(auditIdHeader, auditId);
  return lines;
}

/** Header lines of a destination's response: with an audit ID where the destination did not give it one. */
export function withAuditIdForClient(headers: string[], { auditId }: InboundRequest): string[] {
  if (auditId === undefined || firstHeader(headers, auditIdHeader) !== undefined) return headers;
  headers.push(auditIdHeader, auditId);
  return headers;
}

/** A response of the router's own, with the audit ID that every response of kube-apiserver has. Changes `response`. */
export function withAuditId(response: Response, inbound: InboundRequest): Response {
  const { headers } = response;
  if (headers.has(auditIdHeader)) return response;
  const auditId = auditIdOf(inbound);
  try {
    headers.set(auditIdHeader, auditId);
  } catch (error) {
    // What a library's own handler has fetched elsewhere cannot be changed (Fetch section 5.1, guard "immutable").
    if (!(error instanceof TypeError)) throw error;
  }
  return response;
}
