/** An error of one variable or binding. The message is a predicate and never quotes a value. */
export interface EnvironmentIssue {
  readonly name: string;
  readonly message: string;
}

/** Thrown for an environment that no router can be made of, with every error. */
export class WorkerConfigurationError extends Error {
  override readonly name = 'WorkerConfigurationError';
  readonly issues: readonly EnvironmentIssue[];
  constructor(issues: readonly EnvironmentIssue[]) {
    const list = issues.map(({ name, message }) => `${name} ${message}`).join('; ');
    super(`The Worker's variables and bindings have errors: ${list}.`);
    this.issues = issues;
  }
}
