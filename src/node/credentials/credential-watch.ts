import { readFile } from 'node:fs/promises';
import {
  type CertificateStatus,
  type CredentialFiles,
  daysLeft,
  type KeyFileStatus,
} from '../../own-paths/status/status-sources.ts';
import { errorMessage, fileErrorMessage } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { withDeadline } from '../../runtime/time.ts';
import { parseCertificates, subjectOf } from '../callers/pem-files.ts';

export interface WatchedFile {
  /** The purpose of the file: the flag that names it, without dashes. */
  readonly name: string;
  readonly path: string;
  readonly text: string;
  /** True if the file may hold certificates inside its text: its state is shown, its text not parsed. Default false. */
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
  /** The heading of an error. Default: that the old content stays in use. */
  readonly complaint?: string;
  /** `apply` takes nothing into use, and says itself what there is to say. Default false. */
  readonly isOnlyChecked?: boolean;
  /**
   * Checks what the files hold now and takes it into use, whole or not at all.
   * @param texts the new texts, by path
   * @throws to keep what is in use. The message says what is wrong; it is logged, and shown to those who may
   *   read the router's status.
   */
  apply(texts: ReadonlyMap<string, string>): void | Promise<void>;
}

interface FileInUse {
  readonly file: WatchedFile;
  text: string;
  /** Read when the text is taken: parsing takes 0.2 ms, and anybody may ask `/readyz`, which looks at all. */
  certificate: ExpiringCertificate | undefined;
  /** When it was taken: milliseconds since the epoch; `undefined`: it is that of the start. */
  lastReload: number | undefined;
  differs: boolean;
}

interface GroupInUse {
  readonly group: FileGroup;
  readonly files: readonly FileInUse[];
  lastError: string | undefined;
}

interface CredentialWatchOptions {
  readonly logger: Logger;
  /** Credentials that are in no file of a group, looked at as often. */
  readonly further?: () => Promise<readonly ExpiringCertificate[]>;
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

/** Milliseconds for one file: a file system may hang for hours. */
const longestRead = 5_000;
/** Milliseconds between two looks. SIGHUP has files looked at at once. */
const interval = 10_000;

/**
 * Looks at files from time to time and takes changed ones into use.
 *
 * They are compared by content: notifications miss the swapped symbolic links that Kubernetes mounts Secrets
 * with, and a modification time says nothing where a tool sets it. The files are few and small.
 */
export class CredentialWatch implements CredentialFiles {
  readonly #options: Required<CredentialWatchOptions>;
  readonly #groups: GroupInUse[] = [];
  #further: readonly ExpiringCertificate[] = [];
  #lastPass: Promise<void> = Promise.resolve();
  /** The path whose file has not come in time. It keeps one of Node's four threads for files and names: no other is read meanwhile. */
  #hanging: string | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CredentialWatchOptions) {
    this.#options = {
      further: async () => [],
      clock: Date.now,
      read: (path) => readFile(path, 'utf8'),
      settle: () => new Promise((resolve) => setTimeout(resolve, 1000).unref()),
      ...options,
    };
  }

  add(group: FileGroup): void {
    const files = group.files.map((file) => ({
      file,
      text: file.text,
      certificate: certificateIn(file),
      lastReload: undefined,
      differs: false,
    }));
    this.#groups.push({ group, files, lastError: undefined });
  }

  start(): void {
    void this.#readFurther();
    let isLooking = false;
    this.#timer = setInterval(async () => {
      // Looks must not pile up.
      if (isLooking) return;
      isLooking = true;
      await this.reload();
      isLooking = false;
    }, interval).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  reload(): Promise<void> {
    this.#lastPass = this.#lastPass.then(async () => {
      for (const group of this.#groups) if (this.#hanging === undefined) await this.#checkGroup(group);
      await this.#readFurther();
    });
    return this.#lastPass;
  }

  certificates(): readonly CertificateStatus[] {
    const now = this.#options.clock();
    const inFiles = this.#groups.flatMap((group) =>
      group.files.flatMap((inUse) =>
        inUse.certificate === undefined ? [] : [{ ...inUse.certificate, ...outcomeOf(inUse, group) }],
      ),
    );
    const others = this.#further.map((each) => ({ ...each, lastReload: null, lastError: null }));
    return [...inFiles, ...others].map(
      ({ name, path, subject, notBefore, notAfter, lastReload, lastError }) => ({
        name,
        path,
        subject,
        notBefore: new Date(notBefore).toISOString(),
        notAfter: new Date(notAfter).toISOString(),
        daysLeft: daysLeft(notAfter, now),
        lastReload,
        lastError,
      }),
    );
  }

  keyFiles(): readonly KeyFileStatus[] {
    return this.#groups.flatMap((group) =>
      group.files.flatMap((inUse) => {
        const { name, path, isDocument = false } = inUse.file;
        const isPem = !isDocument && /-----BEGIN [A-Z ]*(?:CERTIFICATE|PRIVATE KEY)-----/.test(inUse.text);
        return isPem ? [] : [{ name, path, ...outcomeOf(inUse, group) }];
      }),
    );
  }

  async #readFurther(): Promise<void> {
    try {
      this.#further = await this.#options.further();
    } catch {
      // Credentials that cannot be read are reported by the reader of the cluster. Their expiry stays the last that was
      // seen.
    }
  }

  async #checkGroup(state: GroupInUse): Promise<void> {
    const issue = await this.#take(state);
    if (issue === undefined || issue === state.lastError) return;
    await this.#options.settle();
    const stillThere = await this.#take(state);
    if (stillThere === undefined || stillThere === state.lastError) return;
    state.lastError = stillThere;
    const { name, complaint } = state.group;
    this.#options.logger.error(
      { files: differing(state), error: stillThere },
      complaint ?? `Changed files cannot be used, the old content stays in use: ${name}`,
    );
  }

  async #take(state: GroupInUse): Promise<string | undefined> {
    const { group, files } = state;
    const readings: PromiseSettledResult<{ readonly inUse: FileInUse; readonly text: string }>[] = [];
    for (const inUse of files) {
      const reading = this.#text(inUse.file).then((text) => ({ inUse, text }));
      readings.push(...(await Promise.allSettled([reading])));
    }
    // Not before all are read: meanwhile the status tells the last error of those that differ.
    for (const [index, inUse] of files.entries()) {
      const reading = readings[index];
      inUse.differs = reading?.status !== 'fulfilled' || reading.value.text !== inUse.text;
    }
    try {
      const read = readings.map((reading) => {
        if (reading.status === 'rejected') throw reading.reason;
        return reading.value;
      });
      const changed = differing(state);
      if (changed.length > 0)
        await group.apply(new Map(read.map(({ inUse, text }) => [inUse.file.path, text])));
      else if (state.lastError === undefined) return undefined;
      const now = this.#options.clock();
      for (const { inUse, text } of read) {
        if (inUse.differs) inUse.lastReload = now;
        Object.assign(inUse, { text, certificate: certificateIn({ ...inUse.file, text }), differs: false });
      }
      state.lastError = undefined;
      if (group.isOnlyChecked === true) return undefined;
      this.#options.logger.info(
        { files: changed.length > 0 ? changed : group.files.map(({ path }) => path) },
        changed.length > 0
          ? `Reloaded: ${group.name}`
          : `No reload needed, the files are those in use: ${group.name}`,
      );
      return undefined;
    } catch (error) {
      return errorMessage(error);
    }
  }

  async #text({ name, path }: WatchedFile): Promise<string> {
    try {
      return await this.#inTime(path);
    } catch (cause) {
      const detail = fileErrorMessage(cause);
      throw new Error(`--${name}: cannot read ${path}: ${detail}`, { cause });
    }
  }

  async #inTime(path: string): Promise<string> {
    const late = (): Error => new Error(`${this.#hanging} has not come within ${longestRead} ms`);
    if (this.#hanging !== undefined) throw late();
    const reading = this.#options.read(path);
    const over = (): void => {
      this.#hanging = undefined;
    };
    reading.then(over, over);
    const hangs = (): Error => {
      this.#hanging = path;
      return late();
    };
    return withDeadline(longestRead, undefined, hangs, () => reading);
  }
}

function differing({ files }: GroupInUse): readonly string[] {
  return files.flatMap(({ file, differs }) => (differs ? [file.path] : []));
}

/** One invalid file keeps every changed file out of use; all others stay in use. */
function outcomeOf(
  { differs, lastReload }: FileInUse,
  { lastError }: GroupInUse,
): Pick<CertificateStatus, 'lastReload' | 'lastError'> {
  return {
    lastReload: lastReload === undefined ? null : new Date(lastReload).toISOString(),
    lastError: differs ? (lastError ?? null) : null,
  };
}

function certificateIn({ isDocument = false, ...file }: WatchedFile): ExpiringCertificate | undefined {
  const hasCertificate = !isDocument && /-----BEGIN [A-Z ]*CERTIFICATE-----/.test(file.text);
  return hasCertificate ? firstToEnd(file) : undefined;
}

/** A chain is worth nothing from the day its first certificate ends; of a bundle it is the one to see to first. */
export function firstToEnd({
  name,
  path,
  text,
}: Pick<WatchedFile, 'name' | 'path' | 'text'>): ExpiringCertificate {
  const [first] = parseCertificates({ pem: text, source: path })
    .map((certificate) => ({
      name,
      path,
      subject: subjectOf(certificate),
      notBefore: certificate.validFromDate.getTime(),
      notAfter: certificate.validToDate.getTime(),
    }))
    .sort((one, other) => one.notAfter - other.notAfter);
  return first as ExpiringCertificate;
}

export interface ExpiringCertificate {
  readonly name: string;
  readonly path: string;
  readonly subject: string;
  readonly notBefore: number;
  readonly notAfter: number;
}
