import {
  type CertificateStatus,
  type CredentialFiles,
  daysLeft,
  type KeyFileStatus,
} from '../../own-paths/status/credential-files.ts';
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

  /** @param clock milliseconds since the epoch. */
  constructor(logger: Logger, clock: () => number = Date.now) {
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
    this.#remind();
    this.#reloader.start(interval, () => this.#remind());
  }

  /** Looks at once. Never rejects: errors are logged. */
  async reload(): Promise<void> {
    await this.#reloader.check();
    this.#remind();
  }

  stop(): void {
    this.#reloader.stop();
  }

  #remind(): void {
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
  /** By the text they were read from: parsing one takes 0.2 ms, and anybody may ask `/readyz`, which looks at all. */
  #parsed = new Map<string, ExpiringCertificate>();

  /** @param clock milliseconds since the epoch. */
  constructor(states: () => readonly FileGroupState[], clock: () => number) {
    this.#states = states;
    this.#clock = clock;
  }

  /** Of each file of certificates the one that ends first. */
  expiring(): readonly ExpiringCertificate[] {
    return this.#certificateFiles().map(([, certificate]) => certificate);
  }

  certificates(): readonly CertificateStatus[] {
    const now = this.#clock();
    return this.#certificateFiles().map(([inUse, { name, path, subject, notAfter }]) => ({
      name,
      path,
      subject,
      notAfter: new Date(notAfter).toISOString(),
      daysLeft: daysLeft(notAfter, now),
      ...outcomeOf(inUse),
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
      const certificate = this.#parsed.get(key) ?? firstToEnd(file, text);
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

function outcomeOf({
  lastReload,
  lastError,
}: Pick<FileInUse, 'lastReload' | 'lastError'>): Pick<CertificateStatus, 'lastReload' | 'lastError'> {
  return {
    lastReload: lastReload === undefined ? null : new Date(lastReload).toISOString(),
    lastError: lastError ?? null,
  };
}

function holds(text: string, label: 'CERTIFICATE' | 'PRIVATE KEY'): boolean {
  return new RegExp(`-----BEGIN [A-Z ]*${label}-----`).test(text);
}

/** A chain is worth nothing from the day its first certificate ends; of a bundle it is the one to see to first. */
function firstToEnd({ name, path }: WatchedFile, text: string): ExpiringCertificate {
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

/** When a certificate is valid, in milliseconds since the epoch, and which one it is. */
export interface ExpiringCertificate {
  readonly name: string;
  readonly path: string;
  readonly subject: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

type Expiry = 'expired' | 'urgent' | 'soon';

/**
 * How near the end a certificate is; `undefined`: not near. Pure.
 *
 * `soon` is under 30 days, `urgent` under 7. Certificates that never had that long to live are renewed by a
 * machine, usually at a third of their life: for them it is a third, and a tenth.
 */
export function expiryOf(
  { notBefore, notAfter }: Pick<ExpiringCertificate, 'notBefore' | 'notAfter'>,
  now: number,
): Expiry | undefined {
  const left = notAfter - now;
  const lifetime = notAfter - notBefore;
  if (left < 0) return 'expired';
  if (left < Math.min(7 * day, lifetime / 10)) return 'urgent';
  return left < Math.min(30 * day, lifetime / 3) ? 'soon' : undefined;
}

const words: Readonly<Record<Expiry, string>> = {
  expired: 'A certificate has expired',
  urgent: 'A certificate expires within days: renew it now',
  soon: 'A certificate expires soon: renew it',
};

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
