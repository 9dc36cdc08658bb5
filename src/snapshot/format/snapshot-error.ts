import { CodedError } from '../../runtime/errors.ts';
import { type DocumentIssue, describeIssues } from '../../runtime/validation.ts';

export type SnapshotErrorCode =
  /** Not a compact JWS, or one without a signature. */
  | 'Unsigned'
  /** Signed with a key that is not among the pinned ones. */
  | 'UnknownKey'
  /** The signature does not hold, or is not of the one accepted form. */
  | 'BadSignature'
  | 'TooLarge'
  /** The signature holds; the content has errors, all in `issues`. */
  | 'Invalid'
  /** Not newer than what is held. */
  | 'NotNewer'
  /** A snapshot of a cluster with another name. */
  | 'OtherCluster'
  /** Its generation is higher than any can be by now. */
  | 'GenerationAhead'
  /** The router reads the cluster itself and takes nothing that is pushed. */
  | 'ReadsClusterItself';

/** Why a snapshot was not taken. What was held before is still held. */
export class SnapshotError extends CodedError<SnapshotErrorCode> {
  override readonly name = 'SnapshotError';
  /** The errors of the content; empty unless `code` is `Invalid`. */
  readonly issues: readonly DocumentIssue[];
  constructor(
    code: SnapshotErrorCode,
    message: string,
    options: { readonly issues?: readonly DocumentIssue[]; readonly cause?: unknown } = {},
  ) {
    super(code, message, 'cause' in options ? { cause: options.cause } : {});
    this.issues = options.issues ?? [];
  }
}

export function invalid(issues: readonly DocumentIssue[]): SnapshotError {
  return new SnapshotError('Invalid', `The snapshot is invalid: ${describeIssues(issues)}`, { issues });
}
