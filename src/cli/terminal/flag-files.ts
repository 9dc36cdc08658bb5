import { fileErrorMessage } from '../../runtime/error-message.ts';
import type { CommandContext } from './command-context.ts';

/** Reads the file that a flag names; empty, with an error, when it cannot be read. */
export function readFlagFile(flag: string, path: string, context: CommandContext, issues: string[]): string {
  try {
    return context.readFile(path);
  } catch (error) {
    issues.push(`${flag}: cannot read ${path}: ${fileErrorMessage(error)}`);
    return '';
  }
}
