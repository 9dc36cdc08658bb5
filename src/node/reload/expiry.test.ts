import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { type ExpiringCertificate, ExpiryReminder, expiryOf } from './expiry.ts';

const day = 86_400_000;
const start = Date.UTC(2026, 0, 1);

function certificate(lifetimeDays: number): ExpiringCertificate {
  return {
    name: 'tls-cert-file',
    path: '/etc/router/tls.crt',
    subject: 'CN=router',
    notBefore: start,
    notAfter: start + lifetimeDays * day,
  };
}

describe('the end of a certificate', () => {
  const daysBefore = (lifetimeDays: number, days: number) =>
    expiryOf(certificate(lifetimeDays), start + (lifetimeDays - days) * day);

  it('is soon under 30 days before, urgent under 7, and past behind it', () => {
    assert.deepEqual(
      [31, 30, 29, 7, 6, 0, -1].map((days) => daysBefore(365, days)),
      [undefined, undefined, 'soon', 'soon', 'urgent', 'urgent', 'expired'],
    );
  });

  it('is not near all its life for one that is renewed every month', () => {
    assert.deepEqual(
      [29, 11, 9, 4, 2].map((days) => daysBefore(30, days)),
      [undefined, undefined, 'soon', 'soon', 'urgent'],
    );
  });
});

describe('reminders', () => {
  it('come once a day, and at once when the end gets nearer', () => {
    const { logger, lines } = recordingLogger();
    const reminder = new ExpiryReminder(logger);
    const ends = certificate(365).notAfter;
    const daysLeft = (days: number) => reminder.remind([certificate(365)], ends - days * day);
    daysLeft(40);
    assert.equal(lines.length, 0);
    for (const days of [29.9, 29.8, 29.1, 28.9, 28.5, 7.2, 6.9, 6.8, -0.1]) daysLeft(days);
    assert.deepEqual(
      lines.map(({ level, fields, message }) => [level, fields['daysLeft'], message]),
      [
        ['warn', 29, 'A certificate expires soon: renew it'],
        ['warn', 28, 'A certificate expires soon: renew it'],
        ['warn', 7, 'A certificate expires soon: renew it'],
        ['warn', 6, 'A certificate expires within days: renew it now'],
        ['warn', -1, 'A certificate has expired'],
      ],
    );
    assert.deepEqual(lines[0]?.fields, {
      flag: '--tls-cert-file',
      path: '/etc/router/tls.crt',
      subject: 'CN=router',
      notAfter: '2027-01-01T00:00:00.000Z',
      daysLeft: 29,
    });
  });

  it('stop when the certificate is renewed', () => {
    const { logger, lines } = recordingLogger();
    const reminder = new ExpiryReminder(logger);
    const now = certificate(365).notAfter - 10 * day;
    reminder.remind([certificate(365)], now);
    reminder.remind([certificate(720)], now + 2 * day);
    assert.equal(lines.length, 1);
  });
});
