import { isRead } from '../request/inbound.ts';
import { dependsOnVersion, untilVersionSettles } from '../routing/decide.ts';
import { isWrite, mayTip } from '../routing/preferred-version.ts';
import { isKnownToOthers, isUntold, mayStillServe } from '../servers/server-standing.ts';
import type { RoutingServer, RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { isOfOneVersion, stepAt } from '../snapshot/routing-table/served-by.ts';
import { confirmedWithin } from '../snapshot/routing-table/version-instants.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import type { RouterSettings } from './options.ts';
import type { Candidates, Choice } from './server-choice.ts';

/** A request, decided, before it is sent. */
type DecidedRequest = Pick<AdmittedRequest, 'requestInfo' | 'decision' | 'view'>;

type HoldSettings = Pick<
  RouterSettings,
  'enabled' | 'routingTable' | 'health' | 'preferredVersion' | 'steadyClock' | 'monotonicClock'
>;

/** Nobody can say beforehand for how long: what is waited for is a change of the book of servers, or a snapshot. */
export const untilTold = Number.POSITIVE_INFINITY;

/** @returns milliseconds that a request has to wait before it is sent, or `untilTold`; 0 for nearly every one */
export function heldBackFor(request: DecidedRequest, settings: HoldSettings): number {
  const { enabled, health, routingTable, steadyClock, preferredVersion } = settings;
  const { requestInfo, decision, view } = request;
  // The first router of a rerouted request has waited already. To wait here would carry the request past the change, to a server
  // of the version before.
  if (!enabled || decision.reason === 'AlreadyRerouted') return 0;
  if (health?.areToBeTried() && requestInfo.isResourceRequest) return untilTold;
  // A router that has just been started does not know what others go by.
  if (requestInfo.isResourceRequest && routingTable.isAwaited?.() === true) return untilTold;
  const { known: table } = view;
  // Nearly always: no look at the clock, then.
  if (table?.comparison === undefined && (health === undefined || health.notKnown().size === 0)) return 0;
  const now = steadyClock();
  const wait = untilVersionSettles(requestInfo, table, { now, preferredVersion });
  return wait === 0 && mayBeKnownToOthers(request, settings, now) ? untilTold : wait;
}

/**
 * @returns true if another router may prefer the version of servers that this one has not read yet: of several that were upgraded
 *   while it was down no one alone is the majority
 */
function mayBeKnownToOthers(
  { requestInfo, view: { known: table, snapshot } }: DecidedRequest,
  { health, preferredVersion }: HoldSettings,
  now: number,
): boolean {
  if (table === undefined || snapshot === undefined || health === undefined) return false;
  const toOthers = new Set([...health.notKnown().keys()].filter((id) => health.is(id, isKnownToOthers)));
  if (toOthers.size === 0 || !mayTip(snapshot, toOthers, preferredVersion, now)) return false;
  return dependsOnVersion(requestInfo, table, { now, preferredVersion });
}

/**
 * The Warning header of a read that goes by what this router knew, because nobody tells more: others may store fields by now that
 * the server does not know. Writes are not sent meanwhile. `undefined`: this router is told.
 * @returns a value for the header (RFC 7234 section 5.5, KEP-1693)
 */
export function untoldWarning(
  { requestInfo, view: { known: table, snapshot } }: DecidedRequest,
  { health, preferredVersion, steadyClock }: HoldSettings,
): string | undefined {
  if (table === undefined || snapshot === undefined || health === undefined) return undefined;
  const notKnown = health.notKnown();
  if (notKnown.size === 0) return undefined;
  const untold = new Set([...notKnown.keys()].filter((id) => health.is(id, isUntold)));
  if (untold.size === 0) return undefined;
  const now = steadyClock();
  if (!mayTip(snapshot, untold, preferredVersion, now)) return undefined;
  if (!dependsOnVersion(requestInfo, table, { now, preferredVersion })) return undefined;
  const servers = [...untold].sort().join(' and ');
  return `299 - "the router has not been told what ${servers} has become: fields may be missing from this response. Look at what the router says of its snapshot (mixed-version-proxy status)"`;
}

/**
 * True if a write depends on the version, or may by now, and the last word that servers are as they are known is too old: a router
 * that is late by so much must not go by it, for others may have changed.
 * A read waits only after a time without any server: what it lacks is removed by the write that follows.
 * @param asked ID of the server that is to be sent the request, once it is chosen: nobody else's word is enough for that one
 * @param isConnected true if the request has waited for the connection on which it is to be sent now
 */
export function isUnconfirmed(
  { requestInfo, decision, view }: DecidedRequest,
  settings: HoldSettings,
  asked = decision.decision === 'local' ? view.local?.id : undefined,
  isConnected = false,
): boolean {
  const { enabled, routingTable, steadyClock, preferredVersion } = settings;
  if (!enabled || decision.reason === 'AlreadyRerouted' || !requestInfo.isResourceRequest) return false;
  if (!isWrite(requestInfo)) {
    const untold = routingTable.untold?.();
    if (untold === undefined || (untold === 'isolated' && !isConnected)) return false;
  }
  const table = view.known;
  if (table === undefined) return false;
  const now = steadyClock();
  const isOfOne = table.comparison === undefined || isOfOneVersion(table.comparison, now);
  if (isOfOne) return mayHaveBecomeSeveral(table, settings, asked);
  if (isConfirmed(settings, asked)) return false;
  return dependsOnVersion(requestInfo, table, { now, preferredVersion });
}

/** @returns true if the servers, which are of one version, may have become several without this router's being told */
function mayHaveBecomeSeveral(
  table: RoutingTable,
  { routingTable, preferredVersion, steadyClock }: HoldSettings,
  asked: string | undefined,
): boolean {
  if (table.servers.length < 2) return false;
  const unconfirmed = routingTable.unconfirmed?.(confirmedWithin);
  if (unconfirmed === undefined) return false;
  const { silent, mayDiffer } = unconfirmed;
  if (asked !== undefined && silent.has(asked)) return true;
  return mayDiffer.size > 0 && mayTip(table, mayDiffer, preferredVersion, steadyClock());
}

/** @returns true if the servers, which are of several versions, have said lately that they are as they are known */
function isConfirmed({ routingTable, monotonicClock }: HoldSettings, asked: string | undefined): boolean {
  if (routingTable.confirmedAt === undefined) return true;
  const age = monotonicClock() - (routingTable.confirmedAt() ?? Number.NEGATIVE_INFINITY);
  // Silent servers are asked again by this question, whatever the age is.
  const isSilent = asked !== undefined && routingTable.unconfirmed?.(confirmedWithin)?.silent.has(asked);
  return age <= confirmedWithin && isSilent !== true;
}

/**
 * True if other routers may still send to a server of the preferred version, or have something carried out there, when a write
 * would go to another version: a field that the server of the preferred version stores meanwhile would be lost. A server whose
 * version does not count yet gets nothing while another one counts that may still serve, or while other routers may not know it.
 */
export function comesTooSoon(
  { inbound, requestInfo, view: { snapshot: table } }: AdmittedRequest,
  { health, steadyClock }: Pick<RouterSettings, 'health' | 'steadyClock'>,
  { versions }: Candidates,
  { otherVersion, server }: Pick<Choice, 'otherVersion'> & { readonly server: Choice['server'] | undefined },
): boolean {
  if (versions === undefined || isRead(inbound.method)) return false;
  const { apiGroup, apiVersion, resource } = requestInfo;
  const servers = (table?.resource(apiGroup, apiVersion, resource) ?? table)?.servers ?? [];
  const step = table?.comparison && stepAt(table.comparison, steadyClock());
  if (server !== undefined && step?.uncounted.has(server.id) === true) {
    const counted = servers.filter(({ id }) => !step.uncounted.has(id));
    return step.untold.has(server.id) ? counted.length > 0 : maySomeStillServe(counted, health);
  }
  if (otherVersion === undefined) return false;
  const preferred = servers.filter(({ minor }) => minor === versions.preferred);
  return maySomeStillServe(preferred, health);
}

function maySomeStillServe(servers: readonly RoutingServer[], health: RouterSettings['health']): boolean {
  return servers.some(({ id }) => health?.is(id, mayStillServe) === true);
}
