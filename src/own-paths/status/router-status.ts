import type { HealthStatus, UnhealthyCause } from '../../health/health-state.ts';
import type { ServerHealthReport } from '../../health/server-health.ts';
import type { MixedVersionProxyOptions } from '../../proxy/options.ts';
import type { PreferredVersionOptions } from '../../routing/decision.ts';
import {
  comingPreference,
  defaultPreferredVersion,
  preferredMinor,
} from '../../routing/preferred-version.ts';
import { durationText } from '../../runtime/duration-text.ts';
import type { RefusedPush } from '../../snapshot/receiving/receiver-options.ts';
import { isOld, type RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import {
  type CertificateStatus,
  type CredentialFiles,
  credentialFileWarnings,
  type KeyFileStatus,
} from './credential-files.ts';
import { type DocumentStatus, documentStatus } from './document-status.ts';
import {
  type EmbeddedSyncSource,
  type EmbeddedSyncStatus,
  embeddedSyncWarnings,
} from './embedded-sync-status.ts';
import { foundInUse, ownServerWarnings } from './own-server.ts';
import {
  describeSettingChange,
  type FoundSetting,
  type SettingChange,
  type SettingsState,
} from './setting-change.ts';
import {
  type UndecodableResource,
  undecodableResources,
  undecodableVersions,
  undecodableWarnings,
} from './undecodable-resources.ts';

/** What `v1/status` shows. Times are RFC 3339. */
export interface RouterStatus extends DocumentStatus {
  /** `gateway`: no server is local. */
  readonly form: 'sidecar' | 'gateway';
  /** ID of the local server; `null` in the gateway form. */
  readonly serverId: string | null;
  /** Health of the local server, which need not be in the snapshot; `null` in the gateway form. */
  readonly localServer: ServerHealthStatus | null;
  /** What `/readyz` says, with its reasons. */
  readonly readiness: {
    readonly ready: boolean;
    readonly failures: readonly { readonly name: string; readonly reason: string }[];
  };
  readonly enabled: boolean;
  /** Which version serves what servers of several versions understand differently. */
  readonly preferredVersion: {
    /** As configured: `majority`, `newest`, `oldest`, `local`, or a minor version. */
    readonly configured: string;
    readonly scope: string;
    /** What that comes to by the snapshot; `null` while the servers are of one version, or have not been compared. */
    readonly minor: string | null;
    /** What it comes to from an instant on that is the same at every router; `null` while no change is foreseen. */
    readonly coming: { readonly minor: string; readonly at: string } | null;
    /** Servers enforce different admission policies, so that every write goes to that version. */
    readonly enforcementDiffers: boolean;
    /** A write gets 503 when only servers of older versions are left. */
    readonly required: boolean;
  };
  /** Resources of which not every server decodes every object. */
  readonly undecodable: readonly UndecodableResource[];
  /** `null`: there has been none. */
  readonly snapshot: {
    readonly generation: number;
    readonly createdAt: string;
    /** Nobody has renewed it for long; it is used all the same. */
    readonly old: boolean;
    readonly source: string;
    /** Those of extension API servers. */
    readonly extensionApis: readonly {
      /** For example `metrics.k8s.io/v1beta1`. */
      readonly groupVersion: string;
      /** `<namespace>/<name>`. */
      readonly service: string;
      readonly available: boolean;
    }[];
    /** For example `example.com/v1`. */
    readonly customResourceGroups: readonly string[];
  } | null;
  /** What the sync job in this router last read; `null` where snapshots are pushed. */
  readonly embeddedSync: {
    /** The kubeconfig by which the cluster is read, or `in-cluster`. */
    readonly source: string;
    /** When it last could read a server; `null` before that. */
    readonly lastReadAt: string | null;
    readonly servers: readonly {
      readonly id: string;
      readonly state: string;
      /** Why it could not be read; `null` where it could. */
      readonly failure: string | null;
    }[];
  } | null;
  readonly servers: readonly {
    readonly id: string;
    /** Of its machine; `null` where the snapshot does not have it. */
    readonly hostname: string | null;
    readonly local: boolean;
    readonly address: string | null;
    /** Who says so (`RoutingServer.addressSource`); `null` when unknown. */
    readonly addressSource: string | null;
    readonly version: string | null;
    /** Servers with the same one serve the same: the key of `servedSets` in the snapshot. `null`: not known. */
    readonly serves: string | null;
    /** The sync job could not read it lately; what it serves is the last that is known. */
    readonly stale: boolean;
    /** When it left, if it has and may come back: what only it serves is 503 meanwhile. `null`: it is there. */
    readonly departedAt: string | null;
    readonly health: ServerHealthStatus;
  }[];
  /** Empty on runtimes that read no certificates from files. */
  readonly certificates: readonly CertificateStatus[];
  readonly keyFiles: readonly KeyFileStatus[];
  /** Settings that were detected, with the source of each. */
  readonly found: readonly FoundSetting[];
  /** What the configuration file says now and only a restart can take into use. */
  readonly needsRestart: readonly SettingChange[];
  /** Warnings: the router works, and something needs attention. */
  readonly warnings: readonly string[];
}

/** A server as this router finds it. */
export interface ServerHealthStatus {
  /** `unknown`: it has not been asked, or health checks are off. */
  readonly status: HealthStatus;
  /** Why it is unhealthy; `null` otherwise. */
  readonly cause: UnhealthyCause | null;
  /** Since when; `null` where nothing is known. */
  readonly since: string | null;
}

export interface RouterStatusOptions
  extends Pick<MixedVersionProxyOptions, 'local' | 'enabled' | 'preferredVersion' | 'health'> {
  readonly routingTable: {
    current(): RoutingTable | undefined;
    readonly refusedPush?: RefusedPush | undefined;
  };
  /** What the runtime has to say about certificates and key files, where it reads any. Default: nothing. */
  readonly credentialFiles?: CredentialFiles | undefined;
  /** Settings that wait for a restart. Default: none do. */
  readonly settings?: SettingsState | undefined;
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
  const { preferredVersion = defaultPreferredVersion } = options;
  const { routingTable, credentialFiles = none, settings, embeddedSync } = options;
  const table = routingTable.current();
  const undecodable = undecodableVersions(table);
  const reading = embeddedSync?.();
  const needsRestart = settings?.needsRestart() ?? [];
  const listed = new Map(table?.snapshot.servers.map((server) => [server.id, server]));
  return {
    form: serverId === undefined ? 'gateway' : 'sidecar',
    serverId: serverId ?? null,
    localServer: serverId === undefined ? null : healthStatus(health?.report(serverId), now),
    readiness,
    enabled,
    preferredVersion: {
      configured: preferredVersion.version,
      scope: preferredVersion.scope,
      minor: (table && preferredMinor(table, preferredVersion, now)) ?? null,
      coming: comingState(table, preferredVersion, now),
      enforcementDiffers: table?.comparison?.enforcementDiffers === true,
      required: preferredVersion.required,
    },
    undecodable: undecodableResources(undecodable),
    snapshot: table === undefined ? null : snapshotState(table, now),
    embeddedSync: reading === undefined ? null : embeddedSyncState(reading),
    servers: (table?.servers ?? []).map(({ id, origin, addressSource, version, stale }) => ({
      id,
      hostname: listed.get(id)?.hostname ?? null,
      local: id === serverId,
      address: origin?.replace('https://', '') ?? null,
      addressSource: addressSource ?? null,
      version: version ?? null,
      serves: listed.get(id)?.serves ?? null,
      stale,
      departedAt: listed.get(id)?.departedAt ?? null,
      health: healthStatus(health?.report(id), now),
    })),
    ...documentStatus(table, reading !== undefined),
    certificates: credentialFiles.certificates(),
    keyFiles: credentialFiles.keyFiles(),
    found: foundInUse(settings?.found() ?? [], serverId),
    needsRestart,
    warnings: [
      ...credentialFileWarnings(credentialFiles),
      ...needsRestart.map(describeSettingChange),
      ...refusedPushWarnings(routingTable.refusedPush),
      ...ownServerWarnings(table, serverId),
      ...oldSnapshotWarnings(table, now, reading !== undefined),
      ...undecodableWarnings(undecodable, preferredVersion.version !== 'local'),
      ...embeddedSyncWarnings(reading),
    ],
  };
}

function snapshotState(table: RoutingTable, now: number): NonNullable<RouterStatus['snapshot']> {
  const { metadata, apiServices, customResourceGroups } = table.snapshot;
  return {
    generation: table.generation,
    createdAt: new Date(table.createdAt).toISOString(),
    old: isOld(table, now),
    source: metadata.source,
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
  servers,
}: EmbeddedSyncStatus): NonNullable<RouterStatus['embeddedSync']> {
  return {
    source,
    lastReadAt: lastReadAt === undefined ? null : new Date(lastReadAt).toISOString(),
    servers: servers.map(({ id, state, failure = null }) => ({ id, state, failure })),
  };
}

function comingState(
  table: RoutingTable | undefined,
  preferredVersion: PreferredVersionOptions,
  now: number,
): RouterStatus['preferredVersion']['coming'] {
  const coming = table && comingPreference(table, preferredVersion, now);
  return coming === undefined ? null : { minor: coming.minor, at: new Date(coming.at).toISOString() };
}

function refusedPushWarnings(refused: RefusedPush | undefined): readonly string[] {
  if (refused === undefined) return [];
  const { at, code, message } = refused;
  return [`the last push of a snapshot was refused (${new Date(at).toISOString()}, ${code}): ${message}`];
}

function healthStatus(report: ServerHealthReport | undefined, now: number): ServerHealthStatus {
  if (report === undefined) return { status: 'unknown', cause: null, since: null };
  const { status, cause, forMilliseconds } = report;
  const since = status === 'unknown' ? null : new Date(now - forMilliseconds).toISOString();
  return { status, cause: cause ?? null, since };
}

const none: CredentialFiles = { certificates: () => [], keyFiles: () => [] };

/**
 * What there is to say of a snapshot that nobody has renewed for long. It stays in use. Pure.
 * @param now milliseconds since the epoch
 */
export function oldSnapshotWarnings(
  table: RoutingTable | undefined,
  now: number,
  readsClusterItself: boolean,
): string[] {
  if (table === undefined || !isOld(table, now)) return [];
  const cause = readsClusterItself ? 'this router cannot read the cluster' : 'see to the sync job';
  return [`the snapshot is ${durationText(now - table.createdAt)} old, and still used: ${cause}`];
}
