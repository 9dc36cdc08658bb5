import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Where Debian and the Go distribution put programs that are not on everybody's PATH. */
const furtherDirectories = ['/usr/sbin', '/usr/local/sbin', '/usr/local/go/bin'];

/** Path of an installed program; `undefined` when it is not installed. */
export function findProgram(name: string): string | undefined {
  const directories = [...(process.env['PATH'] ?? '').split(delimiter), ...furtherDirectories];
  return directories.map((directory) => join(directory, name)).find((path) => existsSync(path));
}
