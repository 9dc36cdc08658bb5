import { write } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import { deleteExpired, type RetentionConfig, rotatedName } from './rotated-files.ts';

/** Where lines go. One call at a time. */
export interface AuditOutput {
  /** Before a whole number of lines of this many bytes. @throws when neither the old file nor a new one can be used. */
  prepare(length: number): Promise<void>;
  /** Writes some of the bytes, in order. @returns how many. @throws when nothing could be written. */
  write(bytes: Uint8Array): Promise<number>;
  /**
   * Goes on in a new file of the old name: somebody has renamed the old one, or it is still there.
   * @throws when there is no new file; the old one is written to then.
   */
  reopen(): Promise<{ readonly isEmpty: boolean }>;
  close(): Promise<void>;
}

/** Milliseconds until a descriptor that takes no more for now is tried again. */
const busyMilliseconds = 10;

/**
 * A descriptor that is open already, such as standard output. Not by `process.stdout`: on Linux that waits in the
 * event loop, and with it all requests, while nobody reads the pipe.
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
        await new Promise((resolve) => setTimeout(resolve, busyMilliseconds));
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
  /** Bytes from which on a file is full. */
  readonly maximumSize: number;
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** Told of what does not keep lines from being written: full files that cannot be renamed or deleted. */
  readonly onFault: (error: unknown) => void;
}

/** Only the owner reads it: it says who did what (the mode that kube-apiserver's own rotation gives). */
const mode = 0o600;

/** A file that is renamed when it is full. */
export class FileOutput implements AuditOutput {
  readonly #options: FileOutputOptions;
  #file: FileHandle;
  #size: number;
  /** Of the last rotation: two in one millisecond must not get one name. */
  #rotated = 0;

  private constructor(options: FileOutputOptions, file: FileHandle, size: number) {
    this.#options = options;
    this.#file = file;
    this.#size = size;
  }

  /** @throws when the file cannot be opened. */
  static async open(options: FileOutputOptions): Promise<FileOutput> {
    const file = await open(options.path, 'a', mode);
    return new FileOutput(options, file, (await file.stat()).size);
  }

  async prepare(length: number): Promise<void> {
    const { path, maximumSize, clock, onFault } = this.#options;
    if (this.#size === 0 || this.#size + length <= maximumSize) return;
    this.#rotated = Math.max(clock(), this.#rotated + 1);
    try {
      await rename(path, rotatedName(path, this.#rotated));
    } catch (error) {
      // Gone already, by a rotation that could not open a new file: it is still to be opened.
      if (!hasCode(error, 'ENOENT')) {
        // Better a file that is too long than lost events.
        onFault(error);
        return;
      }
    }
    await this.reopen();
    // Not waited for: a folder with many files takes its time.
    deleteExpired(path, this.#options, clock()).catch(onFault);
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
