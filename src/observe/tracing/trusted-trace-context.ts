import { carriesRerouteMark } from '../../request/header-hygiene.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { Caller } from '../../request/user-info.ts';

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
