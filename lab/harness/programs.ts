import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { UsageError } from './command-line.ts';

const run = promisify(execFile);

/** Where Debian and the Go distribution put programs that are not on everybody's PATH. */
const furtherDirectories = ['/usr/sbin', '/usr/local/sbin', '/usr/local/go/bin'];

/** Path of an installed program; `undefined` when it is not installed. */
export function findProgram(name: string): string | undefined {
  const directories = [...(process.env['PATH'] ?? '').split(delimiter), ...furtherDirectories];
  return directories.map((directory) => join(directory, name)).find((path) => existsSync(path));
}

/**
 * The same for one that there is no doing without.
 * @param debianPackage that has it
 * @throws {UsageError} when it is not installed
 */
export function installedProgram(name: string, debianPackage: string): string {
  const path = findProgram(name);
  if (path === undefined) throw new UsageError(`${name} is not installed (Debian: ${debianPackage}).`);
  return path;
}

/** What `program ...flags` says, on either output, up to `expression`'s first group. */
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
