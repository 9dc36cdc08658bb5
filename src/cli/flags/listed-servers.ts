import { readFlagOrigin } from '../terminal/flag-files.ts';

/** A server as `--server` lists it. */
export interface ListedServer {
  readonly id: string;
  /** `undefined`: the flag is at fault. */
  readonly url?: string;
}

/** Reads the entries of `--server`, each `id=https://host:port`. */
export function readListedServers(entries: readonly string[], faults: string[]): readonly ListedServer[] {
  const ids = new Set<string>();
  return entries.map((entry) => {
    const equals = entry.indexOf('=');
    const id = entry.slice(0, Math.max(equals, 0));
    if (equals < 1) {
      faults.push(`--server must be id=https://host:port, not "${entry}"`);
      return { id: entry };
    }
    if (ids.has(id)) faults.push(`--server names ${id} twice`);
    ids.add(id);
    return { id, url: readFlagOrigin('--server', entry.slice(equals + 1), faults) };
  });
}
