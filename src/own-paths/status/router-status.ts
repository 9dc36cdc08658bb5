import { minorVersion } from '../../apimachinery/server-version.ts';
import type { MixedVersionProxyOptions, RouterParts } from '../../proxy/options.ts';
import type { PreferredVersion } from '../../routing/decision.ts';
import {
  comingPreference,
  defaultPreferredVersion,
  preferredMinor,
} from '../../routing/preferred-version.ts';
import { durationText } from '../../runtime/duration-text.ts';
import type { ServerReport } from '../../servers/server-book.ts';
import { isDownState } from '../../servers/server-states.ts';
import type { RefusedPush, SnapshotConcern } from '../../snapshot/receiving/receiver.ts';
import { isOld, type RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { comparePreference } from '../../snapshot/routing-table/served-by.ts';
import { servedComparison } from './served-comparison.ts';
import type { RouterStatus } from './status-schema.ts';
import {
  type CredentialFiles,
  type EmbeddedSyncSource,
  type EmbeddedSyncStatus,
  expiryWarnings,
  type FoundSetting,
  manifestWarnings,
  reloadWarnings,
} from './status-sources.ts';

export interface RouterStatusOptions
  extends Pick<MixedVersionProxyOptions, 'local' | 'enabled' | 'preferredVersion' | 'steadyClock'>,
    Pick<RouterParts, 'health'> {
  readonly routingTable: {
    current(): RoutingTable | undefined;
    readonly refusedPush?: RefusedPush | undefined;
    /** Default: nothing. */
    concerns?(): readonly SnapshotConcern[];
  };
  /** Report of the runtime on certificates and key files, where it reads any. Default: nothing. */
  readonly credentialFiles?: CredentialFiles | undefined;
  /** Settings that were found on this machine or in the cluster. Default: none. */
  readonly found?: readonly FoundSetting[] | undefined;
  /** The sync job in this process, which makes the snapshots. Default: they are pushed. */
  readonly embeddedSync?: EmbeddedSyncSource | undefined;
}

/** Pure, but for the health of the moment. `now` in milliseconds since the epoch. */
export function routerStatus(
  options: RouterStatusOptions,
  readiness: RouterStatus['readiness'],
  now: number,
): RouterStatus {
  const { enabled = true, health } = options;
  const serverId = options.local?.id;
  const { preferredVersion = defaultPreferredVersion, steadyClock = () => now } = options;
  const steady = steadyClock();
  const { credentialFiles = none, found = [] } = options;
  const table = options.routingTable.current();
  const reading = options.embeddedSync?.();
  const listed = new Map(table?.snapshot.servers.map((server) => [server.id, server]));
  return {
    form: serverId === undefined ? 'gateway' : 'sidecar',
    serverId: serverId ?? null,
    localServer: serverId === undefined ? null : healthStatus(health?.report(serverId), now),
    readiness,
    enabled,
    preferredVersion: {
      configured: preferredVersion,
      minor: (table && preferredMinor(table, preferredVersion, steady)) ?? null,
      coming: comingState(table, preferredVersion, steady, now),
      enforcementDiffers: table?.comparison?.enforcementDiffers === true,
    },
    snapshot: table === undefined ? null : snapshotState(table, now),
    embeddedSync: reading === undefined ? null : embeddedSyncState(reading),
    servers: (table?.servers ?? []).map(({ id, origin, addressSource, version, minor, stale }) => ({
      id,
      hostname: listed.get(id)?.hostname ?? null,
      local: id === serverId,
      address: origin?.replace('https://', '') ?? null,
      addressSource: addressSource ?? null,
      version: version ?? null,
      countedAs: minor ?? null,
      serves: listed.get(id)?.serves ?? null,
      stale,
      departedAt: listed.get(id)?.departedAt ?? null,
      health: healthStatus(health?.report(id), now),
    })),
    served: table === undefined ? null : servedComparison(table).now(),
    certificates: credentialFiles.certificates(),
    keyFiles: credentialFiles.keyFiles(),
    found,
    warnings: warningsOf(options, table, now),
  };
}

function warningsOf(
  options: RouterStatusOptions,
  table: RoutingTable | undefined,
  now: number,
): RouterStatus['warnings'] {
  const { routingTable, credentialFiles = none, found = [] } = options;
  const reading = options.embeddedSync?.();
  return [
    ...warnings(`${runbook}credentialreloadfailed`, reloadWarnings(credentialFiles)),
    ...warnings(`${runbook}certificateexpiring`, expiryWarnings(credentialFiles)),
    ...warnings(`${runbook}snapshotrefused`, refusedPushWarnings(routingTable.refusedPush)),
    ...warnings(
      `${runbook}snapshotrefused`,
      (routingTable.concerns?.() ?? []).flatMap(({ details }) => details),
    ),
    ...warnings(null, ownServerWarnings(table, options.local?.id)),
    ...warnings(`${kubeadmPage}#an-upgrade-without---patches`, manifestWarnings(credentialFiles)),
    ...warnings(`${kubeadmPage}#while-some-nodes-are-done-and-others-not`, halfWayWarnings(table, found)),
    ...warnings(`${runbook}snapshotold`, oldSnapshotWarnings(table, now, reading !== undefined)),
    ...warnings(`${runbook}syncserverunreadable`, reading?.warnings ?? []),
  ];
}

/** As `runbook_url` of the alerts has it. */
const runbook = 'docs/guides/runbooks.md#mixedversionproxy';

const kubeadmPage = 'docs/start/install-kubeadm.md';

function warnings(see: string | null, messages: readonly string[]): RouterStatus['warnings'] {
  return messages.map((message) => ({ message, see }));
}

function snapshotState(table: RoutingTable, now: number): NonNullable<RouterStatus['snapshot']> {
  const { metadata, apiServices, customResourceGroups } = table.snapshot;
  return {
    generation: table.generation,
    createdAt: new Date(table.createdAt).toISOString(),
    old: isOld(table, now),
    source: metadata.source,
    cluster: metadata.cluster ?? null,
    extensionApis: apiServices.flatMap(({ group, version, service, available }) =>
      service === undefined
        ? []
        : [
            {
              groupVersion: `${group}/${version}`,
              service: `${service.namespace}/${service.name}`,
              available,
            },
          ],
    ),
    customResourceGroups: customResourceGroups.map(({ group, version }) => `${group}/${version}`),
  };
}

function embeddedSyncState({
  source,
  lastReadAt,
}: EmbeddedSyncStatus): NonNullable<RouterStatus['embeddedSync']> {
  return { source, lastReadAt: lastReadAt === undefined ? null : new Date(lastReadAt).toISOString() };
}

function comingState(
  table: RoutingTable | undefined,
  preferredVersion: PreferredVersion,
  steady: number,
  now: number,
): RouterStatus['preferredVersion']['coming'] {
  const coming = table && comingPreference(table, preferredVersion, steady);
  return coming === undefined
    ? null
    : { minor: coming.minor, at: new Date(now + coming.at - steady).toISOString() };
}

function refusedPushWarnings(refused: RefusedPush | undefined): readonly string[] {
  if (refused === undefined) return [];
  const { at, code, message } = refused;
  return [`the last push of a snapshot was refused (${new Date(at).toISOString()}, ${code}): ${message}`];
}

function healthStatus(
  report: ServerReport | undefined,
  now: number,
): RouterStatus['servers'][number]['health'] {
  if (report === undefined) return { status: 'untried', reason: null, since: null };
  const { status, reason, forMilliseconds } = report;
  const since = status === 'untried' ? null : new Date(now - forMilliseconds).toISOString();
  return { status, reason: reason ?? null, since };
}

const none: CredentialFiles = { certificates: () => [], keyFiles: () => [] };

/** @param now milliseconds since the epoch */
export function oldSnapshotWarnings(
  table: RoutingTable | undefined,
  now: number,
  readsClusterItself: boolean,
): string[] {
  if (table === undefined || !isOld(table, now)) return [];
  const cause = readsClusterItself ? 'this router cannot read the cluster' : 'see to the sync job';
  return [`the snapshot is ${durationText(now - table.createdAt)} old, and still used: ${cause}`];
}

const namedIds = 10;

/** True if a snapshot is of other servers than the local one. Pure. */
export function lacksOwnServer(table: RoutingTable, serverId: string | undefined): boolean {
  return serverId !== undefined && table.server(serverId) === undefined;
}

/** With a wrong ID everything works, but requests that the local server could serve may go to a peer. Pure. */
export function ownServerWarnings(
  table: RoutingTable | undefined,
  serverId: string | undefined,
): readonly string[] {
  if (table === undefined || !lacksOwnServer(table, serverId)) return [];
  // In quotes: where servers are shown by their host names, these stay IDs.
  const ids = table.servers.map(({ id }) => JSON.stringify(id));
  const known = [...ids.slice(0, namedIds), ...(ids.length > namedIds ? ['…'] : [])].join(', ');
  return [`the snapshot has no server ${serverId}: compare --server-id with those that it has (${known})`];
}

/**
 * A control plane in which the routers of some nodes have taken kube-apiserver's port and those of others have not: the
 * Service `default/kubernetes` has one port for all API servers (docs/start/install-kubeadm.md). Pure.
 */
export function halfWayWarnings(
  table: RoutingTable | undefined,
  found: readonly FoundSetting[],
): readonly string[] {
  // Given by hand, it may be anything: a forwarded port, another listener.
  const local = found.find(({ flag }) => flag === '--local-server');
  const port = local && portOf(local.value);
  const ofService = (table?.servers ?? []).flatMap(({ addressSource, origin }) =>
    addressSource === 'endpointslice' && origin !== undefined ? [portOf(origin)] : [],
  );
  const [led] = ofService;
  if (port === undefined || led === undefined || ofService.includes(port)) return [];
  const what = `the Service default/kubernetes leads pods to port ${led} of every API server, and the kube-apiserver of this node listens on ${port}`;
  return [
    `half way: ${what}. Finish on every node with mixed-version-proxy install kubeadm --take-port, or go back with --undo; either sets the port of the Service`,
  ];
}

function portOf(origin: string): number {
  return Number(new URL(origin).port || 443);
}

export type ListedServer = RouterStatus['servers'][number];

/**
 * True if requests can be sent to the server: it is not known to be down, has not left, and has an address. A server
 * whose health is not known counts as one that serves.
 */
export function isUsable({ local, address, departedAt, health }: ListedServer): boolean {
  // The local server's address is its flag's, whatever the snapshot has.
  return !isDownState(health.status) && (local || (address !== null && departedAt === null));
}

export function countHealthy(servers: readonly ListedServer[]): number {
  return servers.filter(({ departedAt, health }) => !isDownState(health.status) && departedAt === null)
    .length;
}

/** Number of resources and subresources that not all servers serve. */
export function countDiffering(served: RouterStatus['served']): number {
  return (served?.differing ?? []).reduce((count, { rows }) => count + rows.length, 0);
}

/** The version that the server is counted as; `undefined` where it is not known. */
export function countedVersion({ version, countedAs }: ListedServer): string | undefined {
  return countedAs ?? minorVersion(version ?? undefined);
}

/**
 * The version that responds where servers of several versions differ: `preferred`, or while no server of it is
 * usable, the next that has one (`ServedBy.byPreference`). `unknown`: that of a server of unknown version. `undefined`:
 * no server is usable. Pure.
 */
export function respondingVersion(preferred: string, servers: readonly ListedServer[]): string | undefined {
  const versions = servers.filter(isUsable).map(countedVersion);
  if (versions.length === 0) return undefined;
  const [first = 'unknown'] = versions.toSorted((left, right) => comparePreference(left, right, preferred));
  return first;
}
