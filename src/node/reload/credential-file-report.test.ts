import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createAuthority } from '../../../test/support/certificates.ts';
import { credentialFileWarnings } from '../../own-paths/status/credential-files.ts';
import { CredentialFileReport } from './credential-file-report.ts';
import type { FileGroupState } from './file-group.ts';

const now = Date.UTC(2030, 0, 10);
const at = (days: number): Date => new Date(now + days * 86_400_000);
const authority = await createAuthority('ca');
const issue = (commonName: string, notAfter: Date) =>
  authority.issue({ commonName, usage: 'server', notBefore: at(-400), notAfter });

function stateOf(
  files: Readonly<Record<string, string>>,
  { lastReload, lastError }: { readonly lastReload?: number; readonly lastError?: string } = {},
): FileGroupState {
  const watched = Object.keys(files).map((name) => ({
    name,
    path: `/etc/${name}`,
    text: 'at start',
  }));
  return {
    group: { name: 'files', files: watched, apply() {} },
    texts: Object.values(files),
    reloads: watched.map(() => lastReload),
    differs: watched.map(() => lastError !== undefined),
    lastError,
  };
}

function reportOf(...states: FileGroupState[]): CredentialFileReport {
  return new CredentialFileReport(
    () => states,
    () => now,
  );
}

it('shows the days left of the certificate in use', async () => {
  const { chain, privateKey } = await issue('router', at(12.5));
  const report = reportOf(
    stateOf({ 'tls-cert-file': chain, 'tls-private-key-file': privateKey }, { lastReload: now - 1000 }),
  );
  assert.deepEqual(report.certificates(), [
    {
      name: 'tls-cert-file',
      path: '/etc/tls-cert-file',
      subject: 'CN=router',
      notAfter: '2030-01-22T12:00:00.000Z',
      daysLeft: 12,
      lastReload: '2030-01-09T23:59:59.000Z',
      lastError: null,
    },
  ]);
  assert.deepEqual(credentialFileWarnings(report), []);
});

it('shows of a bundle the certificate that ends first', async () => {
  const pems = await Promise.all([issue('late', at(90)), issue('early', at(5)), issue('later', at(100))]);
  const report = reportOf(stateOf({ 'client-ca-file': pems.map(({ certificate }) => certificate).join('') }));
  assert.deepEqual(
    report.certificates().map(({ subject, daysLeft }) => [subject, daysLeft]),
    [['CN=early', 5]],
  );
});

it('tells private keys from nobody, and key sets apart from certificates', async () => {
  const { chain, privateKey } = await issue('router', at(100));
  const report = reportOf(
    stateOf({ 'tls-cert-file': chain, 'tls-private-key-file': privateKey }),
    stateOf({ 'snapshot-keys': '{"keys":[]}' }, { lastError: 'is not JSON' }),
  );
  assert.deepEqual(report.keyFiles(), [
    { name: 'snapshot-keys', path: '/etc/snapshot-keys', lastReload: null, lastError: 'is not JSON' },
  ]);
  assert.ok(!JSON.stringify([report.certificates(), report.keyFiles()]).includes('tls-private-key-file'));
});

it('warns of failed reloads and of certificates past their end', async () => {
  const { chain } = await issue('router', at(-2));
  const report = reportOf(stateOf({ 'tls-cert-file': chain }, { lastError: 'no PEM certificate' }));
  assert.equal(report.certificates()[0]?.daysLeft, -2);
  assert.deepEqual(credentialFileWarnings(report), [
    '--tls-cert-file: /etc/tls-cert-file was not reloaded, the old one stays in use: no PEM certificate',
    '--tls-cert-file: CN=router in /etc/tls-cert-file expired at 2030-01-08T00:00:00.000Z',
  ]);
});
