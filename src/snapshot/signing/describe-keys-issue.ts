import type { SnapshotIssue } from '../format/issues.ts';

/** Describes an error in a key file. The file's content is left out: it may be a private key given by mistake. */
export function describeKeysIssue(file: string, issue: SnapshotIssue): string {
  const message = issue.message.replace(/^(is not JSON)\b.*$/s, '$1');
  return issue.path === '' ? `${file} ${message}` : `${file}: ${issue.path} ${message}`;
}
