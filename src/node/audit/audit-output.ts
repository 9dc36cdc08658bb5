import { write } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { deleteExpired, type RetentionConfig, rotatedName } from './rotated-files.ts';

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
