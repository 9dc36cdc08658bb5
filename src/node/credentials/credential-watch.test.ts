import assert from 'node:assert/strict';
import { mkdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createAuthority } from '../../../test/support/certificates.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import {
  expiryOf,
  expiryWarnings,
  firstExpiry,
  reloadWarnings,
} from '../../own-paths/status/status-sources.ts';
import {
  CredentialWatch,
  type ExpiringCertificate,
  type FileGroup,
  type WatchedFile,
} from './credential-watch.ts';

const noon = Date.UTC(2026, 0, 31, 12);

/** Files in memory, one group of two that must be equal, and what became of it. */
function setup(settle: (disk: Map<string, string>) => void = () => {}) {
  const disk = new Map([
    ['/one', 'a'],
    ['/two', 'a'],
  ]);
  const one: WatchedFile = { name: 'one-file', path: '/one', text: 'a' };
  const two: WatchedFile = { name: 'two-file', path: '/two', text: 'a' };
  const applied: string[] = [];
  const group: FileGroup = {
    name: 'the twins',
    files: [one, two],
    apply(texts) {
      const [first = '', second] = texts.values();
      if (first !== second) throw new TypeError(`${first} is not ${second}`);
      applied.push(first);
    },
  };
  const { logger, lines } = recordingLogger();
  const reloader = new CredentialWatch({
    logger,
    clock: () => noon,
    read: async (path) => {
      const text = disk.get(path);
      if (text === undefined) throw new Error('ENOENT');
      return text;
    },
    settle: async () => settle(disk),
  });
  reloader.add(group);
  const reloads = () => reloader.keyFiles().map(({ lastReload }) => lastReload);
  const errors = () => reloader.keyFiles().map(({ lastError }) => lastError);
  return { disk, applied, reloader, lines, group, reloads, errors };
}

describe('watched files', () => {
  it('are left alone while they do not change', async () => {
    const { reloader, applied, lines, reloads } = setup();
    await reloader.reload();
    assert.deepEqual(applied, []);
    assert.deepEqual(lines, []);
    assert.deepEqual(reloads(), [null, null]);
  });

  it('are taken together when one of them changes', async () => {
    const { disk, reloader, applied, lines, reloads } = setup();
    disk.set('/one', 'b').set('/two', 'b');
    await reloader.reload();
    await reloader.reload();
    assert.deepEqual(applied, ['b']);
    assert.deepEqual(lines, [
      { level: 'info', fields: { files: ['/one', '/two'] }, message: 'Reloaded: the twins' },
    ]);
    const atNoon = new Date(noon).toISOString();
    assert.deepEqual(reloads(), [atNoon, atNoon]);
  });

  it('that are just being written are looked at once more before anything is said', async () => {
    const { disk, reloader, applied, lines } = setup((files) => files.set('/two', 'b'));
    disk.set('/one', 'b');
    await reloader.reload();
    assert.deepEqual(applied, ['b']);
    assert.deepEqual(
      lines.map(({ level }) => level),
      ['info'],
    );
  });

  it('that are wrong keep the old in use; each error is said once', async () => {
    const { disk, reloader, applied, lines, reloads, errors } = setup();
    disk.set('/one', 'b');
    await reloader.reload();
    await reloader.reload();
    disk.set('/one', 'c');
    await reloader.reload();
    disk.delete('/two');
    await reloader.reload();
    assert.deepEqual(applied, []);
    assert.deepEqual(
      lines.map(({ level, fields }) => [level, fields['error']]),
      [
        ['error', 'b is not a'],
        ['error', 'c is not a'],
        ['error', '--two-file: cannot read /two: ENOENT'],
      ],
    );
    const last = '--two-file: cannot read /two: ENOENT';
    assert.deepEqual(errors(), [last, last]);
    assert.deepEqual(reloads(), [null, null]);
  });

  it('are taken once they are right, and right again as they were', async () => {
    const { disk, reloader, applied, lines, errors } = setup();
    disk.set('/one', 'b');
    await reloader.reload();
    disk.set('/one', 'a');
    await reloader.reload();
    assert.deepEqual(errors(), [null, null]);
    assert.equal(lines.at(-1)?.message, 'No reload needed, the files are those in use: the twins');
    disk.set('/one', 'c').set('/two', 'c');
    await reloader.reload();
    assert.deepEqual(applied, ['c']);
  });

  it('that are as they were are not told as wrong while they are read', async () => {
    const { disk, reloader, errors } = setup();
    disk.set('/one', 'b');
    await reloader.reload();
    assert.deepEqual(errors(), ['b is not a', null]);
    const checked = reloader.reload();
    await Promise.resolve();
    assert.deepEqual(errors(), ['b is not a', null]);
    await checked;
  });

  it('of one group do not hold up those of another', async () => {
    const { disk, reloader } = setup();
    const applied: string[] = [];
    const other: WatchedFile = { name: 'other', path: '/other', text: 'x' };
    reloader.add({
      name: 'the other',
      files: [other],
      apply: (texts) => void applied.push(...texts.values()),
    });
    disk.set('/one', 'b').set('/other', 'y');
    await reloader.reload();
    assert.deepEqual(applied, ['y']);
  });

  it('are looked at by one at a time, however often it is asked for', async () => {
    const { disk, reloader, applied } = setup();
    disk.set('/one', 'b').set('/two', 'b');
    await Promise.all([reloader.reload(), reloader.reload(), reloader.reload()]);
    assert.deepEqual(applied, ['b']);
  });

  it('that hang keep one thread, are told of, and are looked at again once they come', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const reading: PromiseWithResolvers<string>[] = [];
    const { logger, lines } = recordingLogger();
    const watch = new CredentialWatch({
      logger,
      read: () => {
        const each = Promise.withResolvers<string>();
        reading.push(each);
        return each.promise;
      },
      settle: async () => {},
    });
    for (const path of ['/one', '/two']) {
      const files = [`${path}-cert`, `${path}-key`].map((each) => ({ name: 'file', path: each, text: 'a' }));
      watch.add({ name: path, files, apply() {} });
    }
    const pass = watch.reload();
    await turn();
    assert.equal(reading.length, 1);
    context.mock.timers.tick(5_000);
    await pass;
    await watch.reload();
    assert.equal(reading.length, 1);
    assert.match(String(watch.keyFiles()[0]?.lastError), /one-cert has not come within 5000 ms/);
    assert.equal(lines.filter(({ level }) => level === 'error').length, 1);
    reading[0]?.resolve('a');
    await turn();
    const next = watch.reload();
    for (let count = 1; count < 5; count++) {
      await turn();
      reading[count]?.resolve('a');
    }
    await next;
    assert.equal(watch.keyFiles()[0]?.lastError, null);
  });

  it('are looked at every ten seconds', async (context) => {
    context.mock.timers.enable({ apis: ['setInterval'] });
    const path = join(await temporaryDirectory(context), 'one');
    const applied: string[] = [];
    const watch = new CredentialWatch({ logger: recordingLogger().logger });
    const file: WatchedFile = { name: 'one-file', path, text: 'a', isDocument: true };
    watch.add({ name: 'one', files: [file], apply: (texts) => void applied.push(...texts.values()) });
    watch.start();
    for (const text of ['b', 'c']) {
      await writeFile(path, text);
      context.mock.timers.tick(10_000);
      await eventually(() => applied.at(-1) === text);
    }
    watch.stop();
    assert.deepEqual(applied, ['b', 'c']);
  });
});

it('a Secret as Kubernetes mounts it, a swapped symbolic link, is seen to change', async (context) => {
  const directory = await temporaryDirectory(context);
  const path = join(directory, 'tls.crt');
  const publish = async (version: string, text: string): Promise<void> => {
    await mkdir(join(directory, version));
    await writeFile(join(directory, version, 'tls.crt'), text);
    await symlink(version, join(directory, '..data_tmp'));
    await rename(join(directory, '..data_tmp'), join(directory, '..data'));
  };
  await publish('..1', 'old');
  await symlink(join('..data', 'tls.crt'), path);
  const file: WatchedFile = { name: 'tls-cert-file', path, text: await readFile(path, 'utf8') };
  const applied: string[] = [];
  const reloader = new CredentialWatch({ logger: recordingLogger().logger });
  reloader.add({
    name: 'the certificate',
    files: [file],
    apply: (texts) => void applied.push(...texts.values()),
  });
  await reloader.reload();
  await publish('..2', 'new');
  await reloader.reload();
  assert.deepEqual(applied, ['new']);
});

const day = 86_400_000;
const now = Date.UTC(2030, 0, 10);
const at = (days: number): Date => new Date(now + days * 86_400_000);
const authority = await createAuthority('ca');
const issue = (commonName: string, notAfter: Date) =>
  authority.issue({ commonName, usage: 'server', notBefore: at(-400), notAfter });

/** A watch of files by name, with what became of them. */
async function watchOf(
  files: Readonly<Record<string, string>>,
  { isReloaded = false, error = '', further = [] as readonly ExpiringCertificate[] } = {},
): Promise<CredentialWatch> {
  const watched = Object.entries(files).map(([name, text]) => ({ name, path: `/etc/${name}`, text }));
  const watch = new CredentialWatch({
    logger: recordingLogger().logger,
    clock: () => now,
    further: async () => further,
    read: async (path) => (error === '' ? (files[path.slice('/etc/'.length)] ?? '') : 'something else'),
    settle: async () => {},
  });
  watch.add({
    name: 'files',
    files: isReloaded ? watched.map((file) => ({ ...file, text: 'at start' })) : watched,
    apply() {
      if (error !== '') throw new Error(error);
    },
  });
  await watch.reload();
  return watch;
}

it('shows the days left of the certificate in use', async () => {
  const { chain, privateKey } = await issue('router', at(12.5));
  const report = await watchOf(
    { 'tls-cert-file': chain, 'tls-private-key-file': privateKey },
    { isReloaded: true },
  );
  assert.deepEqual(report.certificates(), [
    {
      name: 'tls-cert-file',
      path: '/etc/tls-cert-file',
      subject: 'CN=router',
      notBefore: '2028-12-06T00:00:00.000Z',
      notAfter: '2030-01-22T12:00:00.000Z',
      daysLeft: 12,
      lastReload: '2030-01-10T00:00:00.000Z',
      lastError: null,
    },
  ]);
  assert.deepEqual([...reloadWarnings(report), ...expiryWarnings(report)], []);
});

it('shows what is in none of the files beside them, and of all the one that ends first', async () => {
  const { chain } = await issue('router', at(12.5));
  const kubeconfig = { name: 'kubeconfig', path: '/etc/reader.kubeconfig', notBefore: now - 300 * day };
  const further = [
    { ...kubeconfig, subject: 'CN=reader', notAfter: now + 5 * day },
    // A machine renews it every hour.
    { ...kubeconfig, subject: 'the token of a pod', notBefore: now, notAfter: now + day / 24 },
  ];
  const report = await watchOf({ 'tls-cert-file': chain }, { further });
  assert.deepEqual(
    report.certificates().map(({ name, subject, daysLeft }) => [name, subject, daysLeft]),
    [
      ['tls-cert-file', 'CN=router', 12],
      ['kubeconfig', 'CN=reader', 5],
      ['kubeconfig', 'the token of a pod', 0],
    ],
  );
  assert.deepEqual(firstExpiry(report.certificates(), now), {
    text: 'in 5 days: CN=reader in /etc/reader.kubeconfig (--kubeconfig)',
    isNear: true,
  });
});

it('shows of a bundle the certificate that ends first', async () => {
  const pems = await Promise.all([issue('late', at(90)), issue('early', at(5)), issue('later', at(100))]);
  const report = await watchOf({ 'client-ca-file': pems.map(({ certificate }) => certificate).join('') });
  assert.deepEqual(
    report.certificates().map(({ subject, daysLeft }) => [subject, daysLeft]),
    [['CN=early', 5]],
  );
});

it('tells private keys from nobody, and key sets apart from certificates', async () => {
  const { chain, privateKey } = await issue('router', at(100));
  const report = await watchOf(
    { 'tls-cert-file': chain, 'tls-private-key-file': privateKey, 'snapshot-keys': '{"keys":[]}' },
    { error: 'is not JSON' },
  );
  assert.deepEqual(report.keyFiles(), [
    { name: 'snapshot-keys', path: '/etc/snapshot-keys', lastReload: null, lastError: 'is not JSON' },
  ]);
  assert.ok(!JSON.stringify([report.certificates(), report.keyFiles()]).includes('tls-private-key-file'));
});

it('warns of failed reloads and of certificates past their end', async () => {
  const { chain } = await issue('router', at(-2));
  const report = await watchOf({ 'tls-cert-file': chain }, { error: 'no PEM certificate' });
  assert.equal(report.certificates()[0]?.daysLeft, -2);
  assert.deepEqual(
    [...reloadWarnings(report), ...expiryWarnings(report)],
    [
      '--tls-cert-file: /etc/tls-cert-file was not reloaded, the old one stays in use: no PEM certificate',
      '--tls-cert-file: CN=router in /etc/tls-cert-file expired at 2030-01-08T00:00:00.000Z',
    ],
  );
});

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

  it('is near under 30 days before, and past behind it', () => {
    assert.deepEqual(
      [31, 30, 29, 0, -1].map((days) => daysBefore(365, days)),
      [undefined, undefined, 'near', 'near', 'expired'],
    );
  });

  it('is not near before the last tenth of an hour for a token that lives so long', () => {
    const minutes = (left: number) => daysBefore(1 / 24, left / 1_440);
    assert.deepEqual([30, 15, 7, 5, -1].map(minutes), [undefined, undefined, undefined, 'near', 'expired']);
  });

  it('is not near all its life for one that is renewed every month', () => {
    assert.deepEqual(
      [29, 11, 9, 2].map((days) => daysBefore(30, days)),
      [undefined, undefined, 'near', 'near'],
    );
  });
});
