import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorMessage, fileErrorMessage } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';

/** A file that was read at start and is read again when it changes. */
export interface WatchedFile {
  /** What it is for: the flag that names it, without dashes. */
  readonly name: string;
  readonly path: string;
  /** As it was read at start. */
  readonly text: string;
  /** It may hold certificates inside its text: its state is shown, and it is not looked into. Default false. */
  readonly isDocument?: boolean;
}

/**
 * Files that mean something together, such as a certificate and its key: when one of them changes, all are read
 * again and taken into use as one.
 */
export interface FileGroup {
  /** For the logs: `the serving certificate and its key`. */
  readonly name: string;
  readonly files: readonly WatchedFile[];
  /** `apply` takes nothing into use, and says itself what there is to say. Default false. */
  readonly isOnlyChecked?: boolean;
  /**
   * Checks what the files hold now and takes it into use, whole or not at all.
   * @param textOf the new text of one of `files`.
   * @throws to keep what is in use. The message says what is wrong; it is logged, and shown to those who may
   *   read the router's status.
   */
  apply(textOf: (file: WatchedFile) => string): void | Promise<void>;
}

export interface FileGroupState {
  readonly group: FileGroup;
  /** Of each file, in order: the text in use. */
  readonly texts: readonly string[];
  /** Of each file, when its text was taken: milliseconds since the epoch; `undefined`: it is that of the start. */
  readonly reloads: readonly (number | undefined)[];
  /** Of each file, whether it holds something else by now, or cannot be read. */
  readonly differs: readonly boolean[];
  /** Why what the files hold now is not in use. */
  readonly lastError: string | undefined;
}

interface FileReloaderOptions {
  readonly logger: Logger;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
  /** UTF-8 text. Default: from disk. */
  readonly read?: (path: string) => Promise<string>;
  /**
   * Waits until files that are just being written may be whole. Default: a second. A certificate and its key
   * are two files, and they are written one after the other.
   */
  readonly settle?: () => Promise<void>;
}

/**
 * Looks at files from time to time and takes changed ones into use.
 *
 * They are compared by content: notifications miss the swapped symbolic links that Kubernetes mounts Secrets
 * with, and a modification time says nothing where a tool sets it. The files are few and small.
 */
export class FileReloader {
  readonly #logger: Logger;
  readonly #clock: () => number;
  readonly #read: (path: string) => Promise<string>;
  readonly #settle: () => Promise<void>;
  readonly #groups = new Map<FileGroup, FileGroupState>();
  #lastPass: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FileReloaderOptions) {
    this.#logger = options.logger;
    this.#clock = options.clock ?? Date.now;
    this.#read = options.read ?? ((path) => readFile(path, 'utf8'));
    this.#settle = options.settle ?? (() => sleep(1000, undefined, { ref: false }));
  }

  /** Looks after a group of files from now on. */
  add(group: FileGroup): void {
    this.#groups.set(group, stateAtStart(group));
  }

  /** How each group stands, in the order they were added. */
  states(): readonly FileGroupState[] {
    return [...this.#groups.values()];
  }

  /** Looks at every file once, after the looks that are under way already. Never rejects: errors are logged. */
  check(): Promise<void> {
    this.#lastPass = this.#lastPass.then(async () => {
      for (const group of this.#groups.keys()) await this.#checkGroup(group);
    });
    return this.#lastPass;
  }

  /** Looks every so many milliseconds, and does what else is to be done that often. */
  start(interval: number, alsoDo: () => void = () => {}): void {
    const windUp = (): void => {
      // Alone, it does not keep the process from ending.
      this.#timer = setTimeout(look, interval).unref();
    };
    const look = (): void => {
      void this.check().then(() => {
        alsoDo();
        // Stopped meanwhile: there is no timer to wind up again.
        if (this.#timer !== undefined) windUp();
      });
    };
    windUp();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #checkGroup(group: FileGroup): Promise<void> {
    const issue = await this.#take(group);
    if (issue === undefined) return;
    if (issue === this.#stateOf(group).lastError) return;
    await this.#settle();
    const stillThere = await this.#take(group);
    if (stillThere === undefined || stillThere === this.#stateOf(group).lastError) return;
    this.#set(group, { lastError: stillThere });
    this.#logger.error(
      { files: this.#differing(group), error: stillThere },
      `Changed files cannot be used, the old content stays in use: ${group.name}`,
    );
  }

  /** @returns why the files' new content is refused; `undefined` when it is in use */
  async #take(group: FileGroup): Promise<string | undefined> {
    const state = this.#stateOf(group);
    const readings = await Promise.allSettled(group.files.map((file) => this.#text(file)));
    const differs = readings.map(
      (reading, index) => reading.status === 'rejected' || reading.value !== state.texts[index],
    );
    this.#set(group, { differs });
    try {
      const texts = readings.map((reading) => {
        if (reading.status === 'rejected') throw reading.reason;
        return reading.value;
      });
      const changed = this.#differing(group);
      if (changed.length > 0) await group.apply((file) => textOf(group, texts, file));
      else if (state.lastError === undefined) return undefined;
      const now = this.#clock();
      const reloads = state.reloads.map((before, index) => (differs[index] === true ? now : before));
      this.#set(group, { texts, reloads, differs: texts.map(() => false), lastError: undefined });
      if (group.isOnlyChecked === true) return undefined;
      this.#logger.info(
        { files: changed.length > 0 ? changed : group.files.map(({ path }) => path) },
        changed.length > 0 ? `Reloaded: ${group.name}` : `As they were before again: ${group.name}`,
      );
      return undefined;
    } catch (error) {
      return errorMessage(error);
    }
  }

  /** The paths of files whose content differs from the one in use. */
  #differing(group: FileGroup): readonly string[] {
    const { differs } = this.#stateOf(group);
    return group.files.flatMap(({ path }, index) => (differs[index] === true ? [path] : []));
  }

  async #text({ name, path }: WatchedFile): Promise<string> {
    try {
      return await this.#read(path);
    } catch (cause) {
      const detail = fileErrorMessage(cause);
      throw new Error(`--${name}: cannot read ${path}: ${detail}`, { cause });
    }
  }

  #stateOf(group: FileGroup): FileGroupState {
    const state = this.#groups.get(group);
    if (state === undefined) throw new RangeError(`no such group of files: ${group.name}`);
    return state;
  }

  #set(group: FileGroup, change: Partial<FileGroupState>): void {
    this.#groups.set(group, { ...this.#stateOf(group), ...change });
  }
}

function stateAtStart(group: FileGroup): FileGroupState {
  const texts = group.files.map(({ text }) => text);
  return {
    group,
    texts,
    reloads: texts.map(() => undefined),
    differs: texts.map(() => false),
    lastError: undefined,
  };
}

function textOf(group: FileGroup, texts: readonly string[], file: WatchedFile): string {
  const text = texts[group.files.indexOf(file)];
  if (text === undefined) throw new RangeError(`--${file.name} is no file of this group: ${group.name}`);
  return text;
}
