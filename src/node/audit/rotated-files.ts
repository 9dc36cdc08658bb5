import { readdir, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';

/** How many rotated files are kept. */
export interface RetentionConfig {
  /** Milliseconds; 0: no limit. */
  readonly maximumAge: number;
  /** 0: no limit. */
  readonly maximumBackups: number;
}

const millisecondsOfDay = 24 * 60 * 60 * 1000;

/**
 * The name of a rotated file: `audit-2026-01-31T12-00-00.000.log`, in UTC, as in kube-apiserver's own rotation
 * (lumberjack), so that log collectors find them. Pure.
 * @param time milliseconds since the epoch
 */
export function rotatedName(path: string, time: number): string {
  const stamp = new Date(time).toISOString().slice(0, -1).replaceAll(':', '-');
  const extension = extname(path);
  return join(dirname(path), `${basename(path, extension)}-${stamp}${extension}`);
}

/** When a file was rotated, from its name; `undefined` for any other file. Pure. */
export function rotatedAt(path: string, name: string): number | undefined {
  const extension = extname(path);
  const before = `${basename(path, extension)}-`;
  if (!name.startsWith(before) || !name.endsWith(extension)) return undefined;
  const stamp = name.slice(before.length, name.length - extension.length);
  const [, day, hour, minute, rest] = /^(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(stamp) ?? [];
  if (day === undefined) return undefined;
  const time = Date.parse(`${day}T${hour}:${minute}:${rest}Z`);
  return Number.isNaN(time) ? undefined : time;
}

/** Which of these rotated files are too old or too many. Pure. */
export function expiredNames(
  path: string,
  names: readonly string[],
  { maximumAge, maximumBackups }: RetentionConfig,
  now: number,
): readonly string[] {
  const rotated = names
    .map((name) => ({ name, time: rotatedAt(path, name) }))
    .filter((file): file is { name: string; time: number } => file.time !== undefined)
    .sort((one, other) => other.time - one.time);
  return rotated
    .filter(
      ({ time }, index) =>
        (maximumBackups > 0 && index >= maximumBackups) || (maximumAge > 0 && now - time > maximumAge),
    )
    .map(({ name }) => name);
}

/** Deletes rotated files that are too old or too many. @throws if the folder cannot be read or written */
export async function deleteExpired(path: string, retention: RetentionConfig, now: number): Promise<void> {
  if (retention.maximumAge === 0 && retention.maximumBackups === 0) return;
  const folder = dirname(path);
  for (const name of expiredNames(path, await readdir(folder), retention, now)) {
    await unlink(join(folder, name));
  }
}

/** Days in milliseconds. */
export function days(count: number): number {
  return count * millisecondsOfDay;
}
