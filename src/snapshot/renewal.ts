import * as v from 'valibot';
import { canonicalJson } from './canonical-json.ts';
import { DocumentReader } from './document-reader.ts';
import { IssueList } from './issues.ts';
import { parseJsonText } from './json-text.ts';
import type { PinnedKeySet } from './keys.ts';
import { sealedRenewalLimit } from './limits.ts';
import { generation, lifetimeSeconds, timestamp } from './schema.ts';
import { expected, strict } from './schema-parts.ts';
import { type SigningKey, signPayload } from './signing-key.ts';
import { invalid } from './snapshot-error.ts';
import { verifySealed } from './verify-sealed.ts';

/** Pinned as `typ`: a snapshot never passes for a renewal, nor the other way round. */
export const sealedRenewalType = 'mixed-version-proxy-renewal+jws';

/** Says that one snapshot still holds, without sending it again: a new lifetime for exactly that content. */
export interface SnapshotRenewal {
  readonly generation: number;
  /** `sealedDigest` of the snapshot. */
  readonly digest: string;
  /** RFC 3339; the lifetime starts anew here. */
  readonly createdAt: string;
  readonly lifetimeSeconds: number;
}

const digest = v.pipe(
  v.string(expected('a digest')),
  v.check((value) => /^sha256:[0-9a-f]{64}$/.test(value), expected('sha256: and 64 hexadecimal digits')),
);
const renewal = strict({ generation, digest, createdAt: timestamp, lifetimeSeconds });

/** Signs a renewal as a compact JWS. @throws {SnapshotError} `Invalid`, for what no receiver would take. */
export async function sealRenewal(given: SnapshotRenewal, key: SigningKey): Promise<string> {
  return signPayload(canonicalJson(read(given)), sealedRenewalType, key);
}

/** Opens a sealed renewal, as `openSnapshot` does a snapshot. @throws {SnapshotError} any code but `NotNewer`. */
export async function openRenewal(jws: string, keys: PinnedKeySet): Promise<SnapshotRenewal> {
  const { text } = await verifySealed(jws, keys, {
    subject: 'The renewal',
    typ: sealedRenewalType,
    limit: sealedRenewalLimit,
  });
  const parsed = parseJsonText(text, 2);
  if (!parsed.ok) throw invalid('The renewal', [parsed.issue]);
  return read(parsed.value);
}

function read(input: unknown): SnapshotRenewal {
  const reader = new DocumentReader(new IssueList());
  const output = reader.read(renewal, input, '');
  if (output === undefined) throw invalid('The renewal', reader.issues.toArray());
  return output;
}
