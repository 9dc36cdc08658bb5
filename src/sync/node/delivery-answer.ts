import * as v from 'valibot';
import { heldGenerationCause } from '../../snapshot/receiving/snapshot-endpoint.ts';
import type { DeliveryResult } from '../delivery/deliver.ts';

/** A router's answers are a short JSON document or a Status, which may list a hundred issues. */
export const maximumAnswerBytes = 256 * 1024;

/** An answer to a push, read whole. */
export interface DeliveryAnswer {
  readonly status: number;
  readonly body: string;
}

/** What a router's answer says about the push. */
export function resultOf({ status, body }: DeliveryAnswer): DeliveryResult {
  if (status === 200 || status === 201 || status === 204) return { kind: 'accepted' };
  const failure = statusOf(body);
  const message = `${status} ${failure?.message ?? 'without a Status'}`;
  if (status === 409) {
    const cause = failure?.details?.causes?.find(({ reason }) => reason === heldGenerationCause);
    const generation = Number(cause?.message);
    return {
      kind: 'newer-held',
      generation: Number.isSafeInteger(generation) && generation > 0 ? generation : undefined,
      message,
    };
  }
  if (isPassing(status)) return { kind: 'unreachable', message };
  return { kind: 'refused', message, ...(status === 422 ? { isInvalid: true } : {}) };
}

/** 429 and 5xx pass; every other code needs somebody to change a key, a right or the snapshot itself. */
export function isPassing(status: number): boolean {
  return status === 429 || status >= 500;
}

const failureStatus = v.object({
  message: v.string(),
  details: v.optional(
    v.object({ causes: v.optional(v.array(v.object({ reason: v.string(), message: v.string() }))) }),
  ),
});

/** The part of a `metav1.Status` that matters here; `undefined` for any other body. */
export function statusOf(body: string): v.InferOutput<typeof failureStatus> | undefined {
  try {
    const parsed = v.safeParse(failureStatus, JSON.parse(body));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}

/** @throws when the body is larger than `limit` bytes, or breaks off */
export async function readAnswerText(body: AsyncIterable<Uint8Array>, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limit) throw new Error(`the answer is larger than ${limit} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The outcome of a push that got no answer. */
export function unreachable(error: unknown): DeliveryResult {
  return { kind: 'unreachable', message: error instanceof Error ? error.message : String(error) };
}
