import * as v from 'valibot';
import { canonicalJson } from '../../runtime/canonical-json.ts';
import { sha256DigestPattern } from '../../runtime/sha256.ts';
import { DocumentReader } from '../format/document-reader.ts';
import { IssueList } from '../format/issues.ts';
import { parseJsonText } from '../format/json-text.ts';
import { sealedRenewalLimit } from '../format/limits.ts';
import { generation, timestamp } from '../format/schema.ts';
import { expected, strict } from '../format/schema-parts.ts';
import { invalid } from '../format/snapshot-error.ts';
import type { PinnedKeySet } from './keys.ts';
import { type SigningKey, signPayload } from './signing-key.ts';
import { verifySealed } from './verify-sealed.ts';

/** Pinned as `typ`: a snapshot never passes for a renewal, nor the other way round. */
export const sealedRenewalType = 'mixed-version-proxy-renewal+jws';

const digest = v.pipe(
  v.string(expected('a digest')),
  v.regex(sha256DigestPattern, expected('sha256: and 64 hexadecimal digits')),
);
const renewal = strict({
  generation,
  /** `sealedDigest` of the snapshot. */
  digest,
  /** The age counts from here. */
  createdAt: timestamp,
});

/** Says that one snapshot still holds, without sending it again: the age of exactly that content starts anew. */
export type SnapshotRenewal = Readonly<v.InferOutput<typeof renewal>>;

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
