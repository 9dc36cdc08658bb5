import {
  type CertificateStatus,
  type CredentialFiles,
  daysLeft,
  type KeyFileStatus,
} from '../../own-paths/status/credential-files.ts';
import { parseCertificates, subjectOf } from '../callers/certificate-pem.ts';
import type { ExpiringCertificate } from './expiry.ts';
import type { FileGroupState, WatchedFile } from './file-group.ts';

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
  /** By the text they were read from, which changes rarely. */
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
        // What is wrong with one file keeps all that changed from use, and nothing else.
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
