import { write } from 'node:fs';
import { type FileHandle, open, readdir, rename, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuditPolicy } from '../../observe/audit/parse-audit-policy.ts';

/** What is audited, and where events are written. */
export interface AuditConfig {
  readonly policy: AuditPolicy;
  /** The file that the policy comes from, read again when it changes; left out without one. */
  readonly policyFile?: { readonly path: string; readonly text: string } | undefined;
  /** A file, or `-` for standard output. */
  readonly path: string;
  /** Bytes at which a file is rotated. */
  readonly maximumSize: number;
  /** Milliseconds that a rotated file is kept; 0: no limit. */
  readonly maximumAge: number;
  /** Rotated files that are kept; 0: all. */
  readonly maximumBackups: number;
  /** Buffered events at most; more are dropped and counted. */
  readonly bufferSize: number;
}

/** Where lines are written. One call at a time. */
export interface AuditOutput {
  /** Called before whole lines of this many bytes. @throws if neither the old file nor a new one can be used */
  prepare(length: number): Promise<void>;
  /** Writes some of the bytes, in order. @returns how many @throws if nothing could be written */
  write(bytes: Uint8Array): Promise<number>;
  /**
   * Continues in a new file of the same name, if the old one was renamed.
   * @throws if it cannot be opened; the old one stays in use then
   */
  reopen(): Promise<{ readonly isEmpty: boolean }>;
  close(): Promise<void>;
}

/** Milliseconds until a busy descriptor is tried again. */
const busyMilliseconds = 10;

/**
 * An open descriptor, such as standard output. Not `process.stdout`: on Linux it blocks the event loop, and all requests,
 * while the pipe is not read.
 */
export class DescriptorOutput implements AuditOutput {
  readonly #descriptor: number;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
  }

  prepare(): Promise<void> {
    return Promise.resolve();
  }

  async write(bytes: Uint8Array): Promise<number> {
    for (;;) {
      try {
        return await writeTo(this.#descriptor, bytes);
      } catch (error) {
        if (!hasCode(error, 'EAGAIN')) throw error;
        await sleep(busyMilliseconds);
      }
    }
  }

  reopen(): Promise<{ readonly isEmpty: boolean }> {
    return Promise.resolve({ isEmpty: false });
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function writeTo(descriptor: number, bytes: Uint8Array): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  write(descriptor, bytes, (error, written) => (error === null ? resolve(written) : reject(error)));
  return promise;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

export interface FileOutputOptions extends RetentionConfig {
  readonly path: string;
  /** Bytes at which a file is full. */
  readonly maximumSize: number;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Called for errors that do not prevent writing: full files that cannot be renamed or deleted. */
  readonly onError: (error: unknown) => void;
}

/** Readable by the owner only, as kube-apiserver's own rotation sets it: the log says who did what. */
const mode = 0o600;

/** A file that is renamed when it is full. */
export class FileOutput implements AuditOutput {
  readonly #options: FileOutputOptions;
  #file: FileHandle;
  #size: number;
  /** Time of the last rotation: two in one millisecond must not get the same name. */
  #rotated = 0;

  private constructor(options: FileOutputOptions, file: FileHandle, size: number) {
    this.#options = options;
    this.#file = file;
    this.#size = size;
  }

  /** @throws if the file cannot be opened */
  static async open(options: FileOutputOptions): Promise<FileOutput> {
    const file = await open(options.path, 'a', mode);
    return new FileOutput(options, file, (await file.stat()).size);
  }

  async prepare(length: number): Promise<void> {
    const { path, maximumSize, clock, onError } = this.#options;
    if (this.#size === 0 || this.#size + length <= maximumSize) return;
    this.#rotated = Math.max(clock(), this.#rotated + 1);
    try {
      await rename(path, rotatedName(path, this.#rotated));
    } catch (error) {
      // Renamed already, by a rotation that could not open the new file.
      if (!hasCode(error, 'ENOENT')) {
        // A file that is too long is better than lost events.
        onError(error);
        return;
      }
    }
    await this.reopen();
    // In the background: a folder with many files takes time.
    deleteExpired(path, this.#options, clock()).catch(onError);
  }

  async write(bytes: Uint8Array): Promise<number> {
    const { bytesWritten } = await this.#file.write(bytes);
    this.#size += bytesWritten;
    return bytesWritten;
  }

  async reopen(): Promise<{ readonly isEmpty: boolean }> {
    const file = await open(this.#options.path, 'a', mode);
    const old = this.#file;
    this.#file = file;
    this.#size = (await file.stat()).size;
    await old.close();
    return { isEmpty: this.#size === 0 };
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** How many rotated files are kept. */
interface RetentionConfig {
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
async function deleteExpired(path: string, retention: RetentionConfig, now: number): Promise<void> {
  if (retention.maximumAge === 0 && retention.maximumBackups === 0) return;
  const folder = dirname(path);
  for (const name of expiredNames(path, await readdir(folder), retention, now)) {
    await unlink(join(folder, name));
  }
}

export function days(count: number): number {
  return count * millisecondsOfDay;
}
