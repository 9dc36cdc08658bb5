import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../../observe/logger.ts';
import type { FileGroup, FileGroupState, WatchedFile } from './file-group.ts';

export interface FileReloaderOptions {
  readonly logger: Logger;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
  /** UTF-8 text. Default: from disk. */
  readonly read?: (path: string) => Promise<string>;
  /**
   * Waits until files that are just being written may be whole. Default: a second. A certificate and its key
   * are two files, and whoever renews them writes one after the other.
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
  #interval = 0;
  #look = (): void => {};

  constructor(options: FileReloaderOptions) {
    this.#logger = options.logger;
    this.#clock = options.clock ?? Date.now;
    this.#read = options.read ?? ((path) => readFile(path, 'utf8'));
    this.#settle = options.settle ?? (() => sleep(1000, undefined, { ref: false }));
  }

  /** Looks after a group of files from now on. */
  add(group: FileGroup): void {
    const texts = group.files.map(({ text }) => text);
    this.#groups.set(group, { group, texts, lastReload: undefined, lastError: undefined });
  }

  /**
   * Looks after these groups from now on, in place of all that are not among them. A group takes the place of the one
   * with its name: with the same files, it is as new as that one was.
   */
  replace(groups: readonly FileGroup[]): void {
    const earlier = new Map([...this.#groups.values()].map((state) => [state.group.name, state]));
    const next = groups.map((group): FileGroupState => {
      const before = earlier.get(group.name);
      if (before?.group === group) return before;
      const texts = group.files.map(({ text }) => text);
      const isSame =
        before !== undefined && isDeepStrictEqual(filesOf(before.group, before.texts), filesOf(group, texts));
      return { group, texts, lastReload: isSame ? before.lastReload : this.#clock(), lastError: undefined };
    });
    this.#groups.clear();
    for (const state of next) this.#groups.set(state.group, state);
  }

  /** How each group stands, in the order they were added. */
  states(): readonly FileGroupState[] {
    return [...this.#groups.values()];
  }

  /** Looks at every file once, behind the looks that are under way already. Never rejects: faults are logged. */
  check(): Promise<void> {
    this.#lastPass = this.#lastPass.then(async () => {
      for (const group of [...this.#groups.keys()]) {
        // Replaced by what a group before it has brought.
        if (this.#groups.has(group)) await this.#checkGroup(group);
      }
    });
    return this.#lastPass;
  }

  /** Looks every so many milliseconds, and does what else is to be done that often. */
  start(interval: number, alsoDo: () => void = () => {}): void {
    this.#interval = interval;
    this.#look = () => {
      void this.check().then(() => {
        alsoDo();
        // Stopped meanwhile: there is no timer to wind up again.
        if (this.#timer !== undefined) this.#windUp();
      });
    };
    this.#windUp();
  }

  /** Milliseconds between two looks from now on. */
  setInterval(interval: number): void {
    if (interval === this.#interval) return;
    this.#interval = interval;
    if (this.#timer !== undefined) this.#windUp();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #windUp(): void {
    clearTimeout(this.#timer);
    // Alone, it does not keep the process from ending.
    this.#timer = setTimeout(this.#look, this.#interval).unref();
  }

  async #checkGroup(group: FileGroup): Promise<void> {
    const fault = await this.#take(group);
    if (fault === undefined) return;
    if (fault === this.#stateOf(group).lastError) return;
    await this.#settle();
    const stillThere = await this.#take(group);
    if (stillThere === undefined || stillThere === this.#stateOf(group).lastError) return;
    this.#set(group, { lastError: stillThere });
    this.#logger.error(
      { files: group.files.map(({ path }) => path), error: stillThere },
      `Changed files cannot be used, the old content stays in use: ${group.name}`,
    );
  }

  /** @returns what is wrong with what the files hold now; `undefined`: it is in use. */
  async #take(group: FileGroup): Promise<string | undefined> {
    const state = this.#stateOf(group);
    try {
      const texts = await Promise.all(group.files.map((file) => this.#text(file)));
      const changed = texts.some((text, index) => text !== state.texts[index]);
      if (changed) await group.apply((file) => textOf(group, texts, file));
      else if (state.lastError === undefined) return undefined;
      const lastReload = changed ? this.#clock() : state.lastReload;
      this.#set(group, { texts, lastReload, lastError: undefined });
      this.#logger.info(
        { files: group.files.map(({ path }) => path) },
        changed ? `Reloaded: ${group.name}` : `As they were before again: ${group.name}`,
      );
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  async #text({ name, path }: WatchedFile): Promise<string> {
    try {
      return await this.#read(path);
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : String(cause);
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

function filesOf({ files }: FileGroup, texts: readonly string[]): readonly unknown[] {
  return files.map(({ name, path }, index) => [name, path, texts[index]]);
}

function textOf(group: FileGroup, texts: readonly string[], file: WatchedFile): string {
  const text = texts[group.files.indexOf(file)];
  if (text === undefined) throw new RangeError(`--${file.name} is no file of this group: ${group.name}`);
  return text;
}
