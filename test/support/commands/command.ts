import { join } from 'node:path';

/** The module of the command `mixed-version-proxy`, as it runs from its sources. */
export const commandModule = join(import.meta.dirname, '..', '..', '..', 'src', 'cli', 'main.ts');

/** Flags by name, each value an argument of its own; `undefined` leaves a flag out. */
export function flagArguments(flags: Readonly<Record<string, readonly string[] | undefined>>): string[] {
  return Object.entries(flags).flatMap(([name, values = []]) => values.map((value) => `--${name}=${value}`));
}
