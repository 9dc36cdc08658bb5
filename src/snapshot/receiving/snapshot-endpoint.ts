import { statusResponse } from '../../apimachinery/status.ts';
import { snapshotText } from '../format/packed-snapshot.ts';
import type { RoutingTable } from '../routing-table/routing-table.ts';
import type { SnapshotReceiver } from './receiver.ts';

/** Media type of a pushed snapshot: a compact JWS (RFC 7515 section 9.2.1). */
export const sealedMediaType = 'application/jose';

/** Content that a router holds, and since when its age counts (milliseconds since the epoch). */
export interface HeldSnapshot {
  readonly digest: string;
  readonly createdAt: number;
}

/**
 * The entity tag of a sealed snapshot (RFC 9110 section 8.8.3). It changes with the content and with each
 * renewal, so that a HEAD tells the sync job whether a router still holds what it was given.
 */
export function entityTagOf({ digest, createdAt }: HeldSnapshot): string {
  return `"${digest}.${createdAt}"`;
}

/** Reads such a tag, also one that a compressing front end made weak; `undefined` for anything else. */
export function parseEntityTag(text: string): HeldSnapshot | undefined {
  const match = /^(?:W\/)?"(sha256:[0-9a-f]{64})\.(\d{1,16})"$/.exec(text);
  return match?.[1] === undefined ? undefined : { digest: match[1], createdAt: Number(match[2]) };
}

export interface SnapshotSource {
  current(): RoutingTable | undefined;
}

export type PushTarget = Pick<
  SnapshotReceiver,
  'current' | 'admit' | 'tellOfRefusal' | 'accept' | 'sealed' | 'digest'
>;

export function isPushTarget(source: SnapshotSource | PushTarget): source is PushTarget {
  return 'accept' in source;
}

/** The snapshot in use: opened, as JSON, or sealed as it came for a client that asks for a JWS. */
export async function getSnapshot(accept: string | undefined, source: SnapshotSource): Promise<Response> {
  const table = source.current();
  const target = isPushTarget(source) ? source : undefined;
  const digest = target?.digest();
  if (table === undefined) {
    return statusResponse('NotFound', 'there has been no snapshot yet');
  }
  if (accept?.includes(sealedMediaType) !== true) {
    const headers = { 'content-type': 'application/json', vary: 'accept' };
    const createdAt = new Date(table.createdAt).toISOString();
    const snapshot = { ...table.snapshot, metadata: { ...table.snapshot.metadata, createdAt } };
    return new Response(await snapshotText(snapshot, false), { headers });
  }
  if (target === undefined || digest === undefined) {
    return statusResponse(
      'NotAcceptable',
      'no sealed snapshot has been pushed to this router, which has it from elsewhere',
    );
  }
  // Made when it is read: sync jobs ask twice a second, with HEAD, whether it is still held.
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        controller.enqueue(new TextEncoder().encode((await target.sealed()) ?? ''));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: { 'content-type': sealedMediaType, etag: entityTagOf({ digest, ...table }), vary: 'accept' },
  });
}
