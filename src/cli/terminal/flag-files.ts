import { errorMessage } from '../../runtime/error-message.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/host-port.ts';
import type { CommandContext } from './command-context.ts';

/** Reads the file that a flag names; empty, with an error, when it cannot be read. */
export function readFlagFile(flag: string, path: string, context: CommandContext, issues: string[]): string {
  try {
    return context.readFile(path);
  } catch (error) {
    issues.push(`${flag}: cannot read ${path}: ${errorMessage(error)}`);
    return '';
  }
}

/** As `readFlagFile`, for a flag that must be given. */
export function readRequiredFlagFile(
  flag: string,
  path: string | undefined,
  context: CommandContext,
  issues: string[],
): string {
  if (path !== undefined) return readFlagFile(flag, path, context, issues);
  issues.push(`${flag} is required`);
  return '';
}

/** Checks that a flag's value is `https://host:port`. */
export function readFlagOrigin(flag: string, text: string, issues: string[]): string {
  const parsed = parseHttpsOrigin(text);
  if (!parsed.ok) issues.push(`${flag} "${text}" ${parsed.message}`);
  return text;
}
