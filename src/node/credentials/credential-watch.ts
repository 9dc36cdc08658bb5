import {
  type CertificateStatus,
  type CredentialFiles,
  daysLeft,
  expiryOf,
  type KeyFileStatus,
} from '../../own-paths/status/status-sources.ts';
import type { Logger } from '../../runtime/logger.ts';
import { parseCertificates, subjectOf } from '../callers/pem-files.ts';
import { type FileGroup, type FileGroupState, FileReloader, type WatchedFile } from './file-reloader.ts';

/**
 * Looks after the files with certificates and keys: takes changed ones into use, warns of certificates that end,
 * and tells how all of them stand. Other files that credentials come from can be added.
 */
export class CredentialWatch {
  /** How the files stand, for `v1/status` and for metrics. */
  readonly status: CredentialFiles;
  readonly #report: CredentialFileReport;
  readonly #reloader: FileReloader;
  readonly #reminder: ExpiryReminder;
  readonly #clock: () => number;
  /** Those of the kubeconfig. */
  readonly #further: (() => Promise<readonly ExpiringCertificate[]>) | undefined;

  /**
   * @param further credentials that are in no file of a group, looked at as often
   * @param clock milliseconds since the epoch
   */
  constructor(
    logger: Logger,
    further?: () => Promise<readonly ExpiringCertificate[]>,
    clock: () => number = Date.now,
  ) {
    this.#further = further;
    this.#clock = clock;
    this.#reloader = new FileReloader({ logger, clock });
    this.#report = new CredentialFileReport(() => this.#reloader.states(), clock);
    this.status = this.#report;
    this.#reminder = new ExpiryReminder(logger);
  }

  /** Looks after one more group of files, from the next look on. */
  add(group: FileGroup): void {
    this.#reloader.add(group);
  }

  /** Looks every ten seconds. */
  start(): void {
    void this.#remind();
    this.#reloader.start(interval, () => void this.#remind());
  }

  /** Looks at once. Never rejects: errors are logged. */
  async reload(): Promise<void> {
    await this.#reloader.check();
    await this.#remind();
  }

  stop(): void {
    this.#reloader.stop();
  }

  async #remind(): Promise<void> {
    try {
      this.#report.further = (await this.#further?.()) ?? [];
    } catch {
      // What cannot be read is told by who reads the cluster with it; its expiry stays the last that was seen.
    }
    this.#reminder.remind(this.#report.expiring(), this.#clock());
  }
}

/** Milliseconds between two looks. SIGHUP has files looked at at once. */
const interval = 10_000;

/** A watched file and the text of it that is in use. */
interface FileInUse {
  readonly file: WatchedFile;
  readonly text: string;
  readonly lastReload: number | undefined;
  readonly lastError: string | undefined;
}

/** What `v1/status` and the expiry warnings tell about the files in use. Private keys are left out. */
export class CredentialFileReport implements CredentialFiles {
  readonly #states: () => readonly FileGroupState[];
  readonly #clock: () => number;
  /** Credentials that are in none of the files. */
  further: readonly ExpiringCertificate[] = [];
  /** By the text they were read from: parsing one takes 0.2 ms, and anybody may ask `/readyz`, which looks at all. */
  #parsed = new Map<string, ExpiringCertificate>();

  /** @param clock milliseconds since the epoch. */
  constructor(states: () => readonly FileGroupState[], clock: () => number) {
    this.#states = states;
    this.#clock = clock;
  }

  /** Of each file of certificates the one that ends first. */
  expiring(): readonly ExpiringCertificate[] {
    return [...this.#certificateFiles().map(([, certificate]) => certificate), ...this.further];
  }

  certificates(): readonly CertificateStatus[] {
    const now = this.#clock();
    const found: (readonly [Outcome, ExpiringCertificate])[] = [
      ...this.#certificateFiles(),
      ...this.further.map((credential) => [readEachTime, credential] as const),
    ];
    return found.map(([outcome, { name, path, subject, notBefore, notAfter }]) => ({
      name,
      path,
      subject,
      notBefore: new Date(notBefore).toISOString(),
      notAfter: new Date(notAfter).toISOString(),
      daysLeft: daysLeft(notAfter, now),
      ...outcomeOf(outcome),
    }));
  }

  keyFiles(): readonly KeyFileStatus[] {
    return this.#files().flatMap(({ file: { name, path, isDocument = false }, text, ...outcome }) =>
      !isDocument && (holds(text, 'CERTIFICATE') || holds(text, 'PRIVATE KEY'))
        ? []
        : [{ name, path, ...outcomeOf(outcome) }],
    );
  }

  #certificateFiles(): readonly (readonly [FileInUse, ExpiringCertificate])[] {
    const parsed = new Map<string, ExpiringCertificate>();
    const found = this.#files().flatMap((inUse) => {
      const { file, text } = inUse;
      if (file.isDocument === true || !holds(text, 'CERTIFICATE')) return [];
      const key = `${file.name} ${file.path} ${text}`;
      const certificate = this.#parsed.get(key) ?? firstToEnd({ ...file, text });
      parsed.set(key, certificate);
      return [[inUse, certificate] as const];
    });
    this.#parsed = parsed;
    return found;
  }

  #files(): readonly FileInUse[] {
    return this.#states().flatMap(({ group, texts, reloads, differs, lastError }) =>
      group.files.map((file, index) => ({
        file,
        text: texts[index] ?? '',
        lastReload: reloads[index],
        // One invalid file keeps every changed file out of use; all others stay in use.
        lastError: differs[index] === true ? lastError : undefined,
      })),
    );
  }
}

type Outcome = Pick<FileInUse, 'lastReload' | 'lastError'>;

const readEachTime: Outcome = { lastReload: undefined, lastError: undefined };

function outcomeOf({ lastReload, lastError }: Outcome): Pick<CertificateStatus, 'lastReload' | 'lastError'> {
  return {
    lastReload: lastReload === undefined ? null : new Date(lastReload).toISOString(),
    lastError: lastError ?? null,
  };
}

function holds(text: string, label: 'CERTIFICATE' | 'PRIVATE KEY'): boolean {
  return new RegExp(`-----BEGIN [A-Z ]*${label}-----`).test(text);
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

const day = 86_400_000;

/** When a certificate or token is valid, in milliseconds since the epoch, and which one it is. */
export interface ExpiringCertificate {
  readonly name: string;
  readonly path: string;
  readonly subject: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

const words = {
  expired: 'A credential has expired',
  urgent: 'A credential expires within days: renew it now',
  soon: 'A credential expires soon: renew it',
} as const;

/** Warns of certificates near their end: at once when it gets nearer, else once a day. */
export class ExpiryReminder {
  readonly #logger: Logger;
  #reminded = new Map<string, number>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** @param now milliseconds since the epoch. */
  remind(certificates: readonly ExpiringCertificate[], now: number): void {
    const reminded = new Map<string, number>();
    for (const certificate of certificates) {
      const expiry = expiryOf(certificate, now);
      if (expiry === undefined) continue;
      const { name, path, subject, notAfter } = certificate;
      const key = JSON.stringify([name, subject, notAfter, expiry]);
      const last = this.#reminded.get(key);
      const due = last === undefined || now - last >= day;
      // Entries that no longer apply are dropped, so the map never outgrows the list.
      reminded.set(key, due ? now : last);
      if (!due) continue;
      const daysLeft = Math.floor((notAfter - now) / day);
      this.#logger.warn(
        { flag: `--${name}`, path, subject, notAfter: new Date(notAfter).toISOString(), daysLeft },
        words[expiry],
      );
    }
    this.#reminded = reminded;
  }
}
