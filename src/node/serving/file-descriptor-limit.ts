import { readFileSync } from 'node:fs';

/** File descriptors that are not connections of clients: the process's own files, listening sockets, reloads. */
const reserved = 256;
/** Where the system does not say how many files may be open. */
const fallback = 10_000;

/**
 * The soft limit of open files in the text of Linux's `/proc/<pid>/limits`. Pure.
 * @returns `undefined` when the text has none; `Infinity` for `unlimited`.
 */
export function openFilesLimit(text: string): number | undefined {
  const soft = /^Max open files\s+(\d+|unlimited)\s/m.exec(text)?.[1];
  if (soft === undefined) return undefined;
  return soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft);
}

/** Of this process, now: Node raises the soft limit to the hard one when it starts. */
export function readOpenFilesLimit(): number | undefined {
  try {
    return openFilesLimit(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    // Systems without /proc.
    return undefined;
  }
}

/**
 * How many clients may be connected when nobody says so: half of the file descriptors, for an HTTP/1.1 client may
 * take one more towards a server. Pure.
 */
export function defaultMaxConnections(openFiles: number | undefined): number {
  if (openFiles === undefined || openFiles === Number.POSITIVE_INFINITY) return fallback;
  return Math.max(1, Math.floor((openFiles - reserved) / 2));
}
