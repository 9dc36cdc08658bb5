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
  /**
   * Checks what the files hold now and takes it into use, whole or not at all.
   * @param textOf the new text of one of `files`.
   * @throws to keep what is in use. The message says what is wrong; it is logged, and shown to those who may
   *   read the router's status.
   */
  apply(textOf: (file: WatchedFile) => string): void | Promise<void>;
}

/** How a group of files stands. */
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
