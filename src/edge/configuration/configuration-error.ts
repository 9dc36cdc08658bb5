/** An error of one variable or binding. The message is a predicate and never quotes a value. */
export interface EnvironmentFault {
  readonly name: string;
  readonly message: string;
}

/** Thrown for an environment that no router can be made of, with every fault. */
export class WorkerConfigurationError extends Error {
  override readonly name = 'WorkerConfigurationError';
  readonly faults: readonly EnvironmentFault[];
  constructor(faults: readonly EnvironmentFault[]) {
    const list = faults.map(({ name, message }) => `${name} ${message}`).join('; ');
    super(`The Worker's variables and bindings have faults: ${list}.`);
    this.faults = faults;
  }
}
