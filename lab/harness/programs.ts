import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { findProgram } from '../../test/support/commands/find-program.ts';
import { UsageError } from './command-line.ts';

const run = promisify(execFile);

/**
 * Path of an installed program that there is no doing without.
 * @param debianPackage that has it
 * @throws {UsageError} when it is not installed
 */
export function installedProgram(name: string, debianPackage: string): string {
  const path = findProgram(name);
  if (path === undefined) throw new UsageError(`${name} is not installed (Debian: ${debianPackage}).`);
  return path;
}

/** The output of `program ...flags`, on either output, up to `expression`'s first group. */
export async function versionOf(
  program: string,
  flags: readonly string[],
  expression: RegExp,
): Promise<string> {
  // wrk says its version and ends with 1, for it was given no URL.
  const { stdout, stderr } = await run(program, [...flags]).catch(
    (error: { readonly stdout?: string; readonly stderr?: string }) => error,
  );
  return expression.exec(`${stdout ?? ''}${stderr ?? ''}`)?.[1] ?? 'unknown';
}
