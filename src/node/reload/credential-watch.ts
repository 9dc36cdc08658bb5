import type { CredentialFiles } from '../../own-paths/status/credential-files.ts';
import type { Logger } from '../../runtime/logger.ts';
import { CredentialFileReport } from './credential-file-report.ts';
import { ExpiryReminder } from './expiry.ts';
import type { FileGroup } from './file-group.ts';
import { FileReloader } from './file-reloader.ts';

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

  /** Looks after these groups in place of all others, as `FileReloader.replace`. */
  replace(groups: readonly FileGroup[]): void {
    this.#reloader.replace(groups);
  }

  /** Milliseconds between two looks from now on. */
  setInterval(interval: number): void {
    this.#reloader.setInterval(interval);
  }

  /** @param interval milliseconds between two looks. */
  start(interval: number): void {
    this.#remind();
    this.#reloader.start(interval, () => this.#remind());
  }

  /** Looks at once. Never rejects: faults are logged. */
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
