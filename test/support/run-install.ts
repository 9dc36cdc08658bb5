import assert from 'node:assert/strict';
import { installCommand } from '../../src/cli/install/install-command.ts';
import { parseArguments } from '../../src/cli/terminal/command.ts';
import { type CommandContext, CommandFailure } from '../../src/cli/terminal/command-context.ts';
import type { commandContext } from './command-context.ts';

/** Runs `install` with these arguments. @returns what it wrote, and the lines of its refusal */
export async function runInstall(
  args: readonly string[],
  node: Parameters<typeof installCommand>[0],
  { context, written }: ReturnType<typeof commandContext>,
  changes: Partial<CommandContext> = {},
) {
  const command = installCommand(node);
  const given = parseArguments(args, 'install', command);
  assert.ok(given !== 'help');
  const failure = await command.run(given, { ...context, ...changes }).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (failure !== undefined) assert.ok(failure instanceof CommandFailure, String(failure));
  return { output: written.output, errors: failure?.lines.join('\n') ?? '' };
}
