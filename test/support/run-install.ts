import assert from 'node:assert/strict';
import { registerInstall } from '../../src/cli/install/register-install.ts';
import { CliCommand } from '../../src/cli/terminal/cli-command.ts';
import { type CommandContext, CommandFailure } from '../../src/cli/terminal/command-context.ts';
import type { commandContext } from './command-context.ts';

/** Runs `install` with these arguments. @returns what it wrote, and the lines of its refusal */
export async function runInstall(
  args: readonly string[],
  node: Parameters<typeof registerInstall>[3],
  { context, written }: ReturnType<typeof commandContext>,
  changes: Partial<CommandContext> = {},
) {
  const program = new CliCommand('mixed-version-proxy').exitOverride();
  registerInstall(program.command('install'), { ...context, ...changes }, () => {}, node);
  const failure = await program.parseAsync(['install', ...args], { from: 'user' }).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure !== undefined) assert.ok(failure instanceof CommandFailure, String(failure));
  return { output: written.output, errors: failure?.lines.join('\n') ?? '' };
}
