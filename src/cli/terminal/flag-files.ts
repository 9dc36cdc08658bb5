import { errorMessage } from '../../runtime/error-message.ts';
import { parseHttpsOrigin } from '../../snapshot/addresses/host-port.ts';
import type { CommandContext } from './command-context.ts';

/** Reads the file that a flag names; empty, with a fault, when it cannot be read. */
export function readFlagFile(flag: string, path: string, context: CommandContext, faults: string[]): string {
  try {
    return context.readFile(path);
  } catch (error) {
    faults.push(`${flag}: cannot read ${path}: ${errorMessage(error)}`);
    return '';
  }
}

/** As `readFlagFile`, for a flag that must be given. */
export function readRequiredFlagFile(
  flag: string,
  path: string | undefined,
  context: CommandContext,
  faults: string[],
): string {
  if (path !== undefined) return readFlagFile(flag, path, context, faults);
  faults.push(`${flag} is required`);
  return '';
}

/** Checks that a flag's value is `https://host:port`. */
export function readFlagOrigin(flag: string, text: string, faults: string[]): string {
  const parsed = parseHttpsOrigin(text);
  if (!parsed.ok) faults.push(`${flag} "${text}" ${parsed.message}`);
  return text;
}
