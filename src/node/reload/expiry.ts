import type { Logger } from '../../runtime/logger.ts';

const day = 86_400_000;

/** When a certificate is valid, in milliseconds since the epoch, and which one it is. */
export interface ExpiringCertificate {
  readonly name: string;
  readonly path: string;
  readonly subject: string;
  readonly notBefore: number;
  readonly notAfter: number;
}

export type Expiry = 'expired' | 'urgent' | 'soon';

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
      // Only what is still so is kept: the map grows no longer than the list.
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
