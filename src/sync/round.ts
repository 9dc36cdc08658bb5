import { systemClock } from '../runtime/time.ts';
import { describeIssues } from '../runtime/validation.ts';
import { parseSnapshot } from '../snapshot/format/parse-snapshot.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import type { RefusedAddress } from '../snapshot/receiving/refused-addresses.ts';
import { buildSnapshot, type SnapshotInput, type SnapshotOutput } from './build-snapshot.ts';
import { sharedGroupVersions } from './documents/shared-objects.ts';
import { defaultTiming } from './documents/timing.ts';
import type { ReaderRecord } from './reading/reader-record.ts';
import { SchemaReader } from './reading/schemas.ts';
import { ServerReaders } from './reading/server-readers.ts';
import type { SyncParts } from './sync-parts.ts';
import { type ChangeMoment, settingBetween } from './version-changes.ts';

export interface RoundOutcome extends SnapshotOutput {
  /** Records of the servers, by ID. */
  readonly records: ReadonlyMap<string, ReaderRecord>;
  /** True if everything that is watched could be listed. */
  readonly isWhole: boolean;
  /** True if a host has not shown yet which Lease its endpoint belongs to. */
  readonly awaitsHosts: boolean;
  readonly refused: readonly RefusedAddress[];
  /** Resolves when a round would know more of schemas; `undefined` while none are being read. */
  readonly moreSchemas: Promise<unknown> | undefined;
}

interface RoundOptions {
  /** The last snapshot: what it has of servers that cannot be read stays. */
  readonly previous: Snapshot | undefined;
  /** For slow servers, milliseconds; `undefined`: for all; 0: none is read, what has been read since the last round counts. */
  readonly longestWait: number | undefined;
  /** True if documents are waited for, too; else those that are not read yet count as different until they are. */
  readonly waitsForSchemas: boolean;
}

/** Reads a cluster, round after round. Delivers nothing. */
export class ClusterReader {
  readonly readers: ServerReaders;
  readonly #parts: SyncParts;
  readonly #clock;
  /** Group versions that once were those of custom resources or extension APIs. */
  readonly #everShared = new Set<string>();
  readonly #schemas;
  /** When the last snapshot was made, or found to be as before. */
  #moment: ChangeMoment;

  constructor(parts: SyncParts) {
    const { clock = systemClock } = parts;
    this.#moment = { now: clock.now(), monotonic: clock.monotonic() };
    this.#parts = parts;
    this.#clock = clock;
    this.readers = new ServerReaders({ ...parts, clock, timing: timingOf(parts) });
    this.#schemas = new SchemaReader({
      clock,
      always: parts.alwaysReadsSchemas,
      previous: parts.previous,
    });
  }

  /** One round: finds the servers, reads those that are due, and makes the snapshot. */
  async round(options: RoundOptions, signal: AbortSignal): Promise<RoundOutcome> {
    const { previous, longestWait, waitsForSchemas } = options;
    const { clusterSource, advertised, cluster } = this.#parts;
    const view = clusterSource.look(this.readers.records());
    this.readers.follow(view.servers);
    const records = await this.readers.round(signal, longestWait);
    const servers = [...records.values()];
    const shared = sharedGroupVersions(
      view.objects.apiServices ?? previous?.apiServices ?? [],
      view.objects.customResourceGroups ?? previous?.customResourceGroups ?? [],
    );
    for (const groupVersion of shared) this.#everShared.add(groupVersion);
    const schemas = await this.#schemas.read({
      records: servers,
      previous,
      shared,
      everShared: this.#everShared,
      waits: waitsForSchemas,
      signal,
    });
    // Last, to include addresses that routers advertised during the reads.
    const addresses = advertised?.resolve(view.servers, previous);
    const moment = { now: this.#clock.now(), monotonic: this.#clock.monotonic() };
    const output = await buildValidSnapshot({
      servers,
      clusterObjects: view.objects,
      everShared: this.#everShared,
      advertised: addresses?.addresses,
      schemas: schemas.byServer,
      previous,
      ...moment,
      set: settingBetween(this.#moment, moment),
      storageVersions: view.storageVersions,
      cluster,
    });
    this.#moment = moment;
    return {
      ...output,
      records,
      isWhole: view.isWhole,
      awaitsHosts: view.awaitsHosts,
      refused: view.refused,
      moreSchemas: schemas.more,
      warnings: [...view.warnings, ...(addresses?.warnings ?? []), ...schemas.warnings, ...output.warnings],
    };
  }
}

export const timingOf = ({ timing }: Pick<SyncParts, 'timing'>) => ({ ...defaultTiming, ...timing });

/**
 * As `buildSnapshot`, and checked as routers check it: they refuse a snapshot with any error. What a server says is checked
 * where it is read, so that it does not stop the snapshot of all; this is for the rest, such as a snapshot that is too large.
 */
async function buildValidSnapshot(input: SnapshotInput): Promise<SnapshotOutput> {
  const output = await buildSnapshot(input);
  if (!output.changed) return output;
  const parsed = await parseSnapshot(output.snapshot);
  if (parsed.ok) return { ...output, snapshot: parsed.snapshot };
  const issue = `the readings make no valid snapshot, so the last one is used: ${describeIssues(parsed.issues)}`;
  return { snapshot: input.previous, changed: false, isInvalid: true, warnings: [...output.warnings, issue] };
}
