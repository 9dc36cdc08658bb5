import type { SnapshotIssue } from '../../runtime/validation.ts';

/**
 * Thrown for an environment that no router can be made of, with every error: its path is a variable's or binding's
 * name, its message a predicate that never quotes a value.
 */
export class WorkerConfigurationError extends Error {
  override readonly name = 'WorkerConfigurationError';
  readonly issues: readonly SnapshotIssue[];
  constructor(issues: readonly SnapshotIssue[]) {
    const list = issues.map(({ path, message }) => `${path} ${message}`).join('; ');
    super(`The Worker's variables and bindings have errors: ${list}.`);
    this.issues = issues;
  }
}
