import { type StatusReason, statusResponse } from '../../apimachinery/status.ts';
import { readText } from '../../runtime/bytes.ts';
import { sealedSnapshotLimit } from '../format/limits.ts';
import { snapshotText } from '../format/packed-snapshot.ts';
import { SnapshotError, type SnapshotErrorCode } from '../format/snapshot-error.ts';
import type { RoutingTable } from '../routing-table/routing-table.ts';
import type { SnapshotReceiver } from './receiver.ts';

/** Media type of a pushed snapshot: a compact JWS (RFC 7515 section 9.2.1). */
export const sealedMediaType = 'application/jose';

/** The cause, in the Status of a refusal, whose message is the generation that the router holds. */
export const heldGenerationCause = 'HeldGeneration';

/** What a router holds: which content, and since when its age counts (milliseconds since the epoch). */
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

type Body = ReadableStream<Uint8Array> | null;

export interface SnapshotSource {
  current(): RoutingTable | undefined;
}

export type PushTarget = Pick<SnapshotReceiver, 'current' | 'accept' | 'sealed' | 'digest'>;

export function isPushTarget(source: SnapshotSource | PushTarget): source is PushTarget {
  return 'accept' in source;
}

export async function putSnapshot(body: Body, receiver: PushTarget): Promise<Response> {
  const text = body === null ? '' : await readText(body, sealedSnapshotLimit);
  if (text === undefined) {
    return statusResponse('RequestEntityTooLarge', `more than ${sealedSnapshotLimit} bytes were sent`);
  }
  try {
    const { createdAt, ...rest } = await receiver.accept(text.trim());
    return Response.json({ ...rest, createdAt: new Date(createdAt).toISOString() });
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    return refused(error, error.code === 'NotNewer' ? receiver.current()?.generation : undefined);
  }
}

/** The `metav1.Status` reason, and with it the HTTP code (401, 413, 422, 409, 405), that a pusher gets. */
const snapshotErrorReason: Readonly<Record<SnapshotErrorCode, StatusReason>> = {
  Unsigned: 'Unauthorized',
  UnknownKey: 'Unauthorized',
  BadSignature: 'Unauthorized',
  TooLarge: 'RequestEntityTooLarge',
  Invalid: 'Invalid',
  NotNewer: 'Conflict',
  OtherCluster: 'Conflict',
  GenerationAhead: 'Conflict',
  ReadsClusterItself: 'MethodNotAllowed',
};

function refused(error: SnapshotError, heldGeneration: number | undefined): Response {
  return statusResponse(snapshotErrorReason[error.code], error.message, {
    causes: [
      { reason: error.code, message: error.message },
      // So that a sync job without state knows the generation to continue from.
      ...(heldGeneration === undefined
        ? []
        : [{ reason: heldGenerationCause, message: String(heldGeneration), field: 'metadata.generation' }]),
      ...error.issues.map(({ path, message }) => ({ reason: 'FieldValueInvalid', message, field: path })),
    ],
  });
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
