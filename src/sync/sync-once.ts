import type { Snapshot } from '../snapshot/format/schema.ts';
import { type DeliveryResult, deliverTo, sealDelivery } from './deliver.ts';
import type { ServerReading } from './documents/sync-server.ts';
import { ClusterReader, type RoundOutcome } from './round.ts';
import type { SyncParts } from './sync-parts.ts';

export interface SyncOnceResult {
  readonly ok: boolean;
  readonly snapshot: Snapshot | undefined;
  readonly readings: ReadonlyMap<string, ServerReading>;
  readonly warnings: readonly string[];
  readonly deliveries: readonly { readonly target: string; readonly result: DeliveryResult }[];
}

/** As `syncOnce`, with open connections. */
export async function runOnce(parts: SyncParts, signal: AbortSignal): Promise<SyncOnceResult> {
  const { targets, signingKey } = parts;
  const { snapshot, records, warnings, isWhole, isInvalid } = await oneRound(parts, signal);
  const delivery = snapshot && (await sealDelivery(snapshot, signingKey));
  const deliveries =
    delivery === undefined
      ? []
      : await Promise.all(
          targets.map(async (target) => ({
            target: target.name,
            result: await deliverTo(target, delivery, signal),
          })),
        );
  const servers = [...records.values()];
  const ok =
    snapshot !== undefined &&
    isWhole &&
    isInvalid !== true &&
    servers.every(({ server, reading }) => server.departedAt !== undefined || reading?.ok === true) &&
    deliveries.every(({ result }) => result.kind === 'accepted');
  const readings = new Map(
    servers.flatMap(({ server, reading }) => (reading === undefined ? [] : [[server.id, reading]])),
  );
  return { ok, snapshot, readings, warnings, deliveries };
}

async function oneRound(parts: SyncParts, signal: AbortSignal): Promise<RoundOutcome> {
  const { clusterSource, previous } = parts;
  const reader = new ClusterReader(parts);
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const watching = clusterSource.run(either);
  const options = { previous, longestWait: undefined, waitsForSchemas: true };
  try {
    await clusterSource.ready(either);
    const first = await reader.round(options, signal);
    const isListed = (id: string) => clusterSource.listed.some((server) => server.id === id);
    const found = [...first.records.values()].filter(({ server }) => !isListed(server.id));
    if (found.every(({ reading }) => reading?.ok === true)) return first;
    // A server that nothing names departs only after a failed read: the second round uses the readings of the first.
    return await reader.round(options, signal);
  } finally {
    over.abort();
    await watching;
  }
}
