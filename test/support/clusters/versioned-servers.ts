import { parseRequestInfo } from '../../../src/apimachinery/request-info.ts';
import { decide } from '../../../src/routing/decide.ts';
import type { Decision, DecisionContext, PreferredVersion } from '../../../src/routing/decision.ts';
import type { ServedSet } from '../../../src/snapshot/format/schema.ts';
import { buildRoutingTable } from '../../../src/snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../../src/snapshot/routing-table/routing-table.ts';
import { type ServerOptions, type SnapshotOptions, snapshotOf } from '../snapshots/snapshot-builder.ts';

/** Resources by server. */
export const serves = [
  'v1/pods',
  'v1/pods/status',
  'v1/pods/exec',
  'autoscaling/v2/horizontalpodautoscalers',
];
/** Servers of two versions understand these differently. */
export const autoscalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web';
export const pods = '/api/v1/namespaces/default/pods';
const customResourceGroups = [{ group: 'example.com', version: 'v1' }];

/** Servers of each minor version have one schema of autoscalers; that of pods is the same in all. */
export function schemasOf(minor: string): NonNullable<ServedSet['schemas']> {
  const digest = btoa(`min-${minor}`.padEnd(8, '.'));
  return { 'core.pods': { v1: 'c2FtZS4uLi4=' }, 'autoscaling.horizontalpodautoscalers': { v2: digest } };
}

export function server(minor: string, more: Partial<ServerOptions> = {}): ServerOptions {
  return { serves, version: `v${minor}.2`, schemas: schemasOf(minor), ...more };
}

export function tableOf(
  servers: Readonly<Record<string, ServerOptions>>,
  options: SnapshotOptions = {},
): RoutingTable {
  return buildRoutingTable(snapshotOf(servers, { customResourceGroups, ...options }));
}

export function decisionAt(
  table: RoutingTable,
  serverId: string | undefined,
  target: string,
  changes: Partial<DecisionContext> & { readonly method?: string; readonly version?: PreferredVersion } = {},
): Decision {
  const { method = 'GET', version = 'majority', ...context } = changes;
  return decide(parseRequestInfo(method, target), table, {
    serverId,
    reroutedByVerifiedPeer: false,
    preferredVersion: version,
    ...context,
  });
}

/** A decision in words, with the servers that may be asked. */
export function told(decision: Decision): string {
  const ids = decision.candidates.map(({ id }) => id).join();
  return `${decision.decision} ${decision.reason} ${ids}`.trim();
}

/** The same of what a router decides: the one beside `serverId`, or a gateway. */
export function decided(...given: Parameters<typeof decisionAt>): string {
  return told(decisionAt(...given));
}

export const twoOldOneNew = { a: server('1.31'), b: server('1.31'), c: server('1.36') };
