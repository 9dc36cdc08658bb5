import { readFileSync } from 'node:fs';

/** File descriptors for other uses than clients' connections: the process's own files, listening sockets, reloads. */
const reserved = 256;
/** If the system does not tell the limit. */
const fallback = 10_000;

/**
 * The soft limit of open files in the text of Linux's `/proc/<pid>/limits`. Pure.
 * @returns `undefined` if the text has none; `Infinity` for `unlimited`
 */
export function openFilesLimit(text: string): number | undefined {
  const soft = /^Max open files\s+(\d+|unlimited)\s/m.exec(text)?.[1];
  if (soft === undefined) return undefined;
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

/** The limit of this process. Node raises the soft limit to the hard one when it starts. */
export function readOpenFilesLimit(): number | undefined {
  try {
    return openFilesLimit(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    // Systems without /proc.
    return undefined;
  }
}

/**
 * The default of `--max-connections`: half of the file descriptors, because an HTTP/1.1 client may need one more for a
 * connection to a server. Pure.
 */
export function defaultMaxConnections(openFiles: number | undefined): number {
  if (openFiles === undefined || openFiles === Number.POSITIVE_INFINITY) return fallback;
  return Math.max(1, Math.floor((openFiles - reserved) / 2));
}
