import * as v from 'valibot';
import { sha256DigestPattern } from '../../runtime/sha256.ts';
import { DocumentReader } from '../format/document-reader.ts';
import { IssueList } from '../format/issues.ts';
import { generation, timestamp } from '../format/schema.ts';
import { expected, strict } from '../format/schema-parts.ts';
import { invalid } from '../format/snapshot-error.ts';

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

/** @throws {SnapshotError} `Invalid` */
export function readRenewal(input: unknown): SnapshotRenewal {
  const reader = new DocumentReader(new IssueList());
  const output = reader.read(renewal, input, '');
  if (output === undefined) throw invalid('The renewal', reader.issues.toArray());
  return output;
}
