/** Exit codes: 0 done, 1 failed while running, 2 called or configured wrongly. */
export type ExitCode = 0 | 1 | 2;

/** Ends a subcommand with one line per problem on standard error. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly exitCode: ExitCode;
  readonly lines: readonly string[];

  constructor(exitCode: ExitCode, lines: readonly string[], options?: ErrorOptions) {
    super(lines.join('\n'), options);
    this.exitCode = exitCode;
    this.lines = lines;
  }
}
