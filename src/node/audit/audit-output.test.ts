import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext, test } from 'node:test';
import { auditEvent, auditIdsOf } from '../../../test/support/audit-events.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { FailureLog } from '../../runtime/logger.ts';
import { AuditLog } from './audit-log.ts';
import {
  type AuditOutput,
  DescriptorOutput,
  days,
  expiredNames,
  FileOutput,
  rotatedAt,
  rotatedName,
} from './audit-output.ts';

async function folder(context: TestContext): Promise<string> {
  const path = await temporaryDirectory(context);
  return path;
}

function openFile(path: string, changes: Partial<Parameters<typeof FileOutput.open>[0]> = {}) {
  const issues: unknown[] = [];
  const output = FileOutput.open({
    path,
    maximumSize: 1_000,
    maximumAge: 0,
    maximumBackups: 0,
    clock: Date.now,
    onError: (error) => issues.push(error),
    ...changes,
  });
  return { issues, output };
}

/** A whole line of so many bytes. */
const lineOf = (text: string, length: number) =>
  Buffer.from(`${text.repeat(length - 1).slice(0, length - 1)}\n`);

async function append(output: AuditOutput, line: Buffer): Promise<void> {
  await output.prepare(line.length);
  assert.equal(await output.write(line), line.length);
}

describe('a file of audit events', () => {
  it('is for its owner alone, and goes on where the last run ended', async (context) => {
    const path = join(await folder(context), 'audit.log');
    for (const text of ['a', 'b']) {
      const output = await openFile(path).output;
      await append(output, lineOf(text, 10));
      await output.close();
    }
    assert.equal(await readFile(path, 'utf8'), 'aaaaaaaaa\nbbbbbbbbb\n');
    assert.equal((await stat(path)).mode & 0o777, 0o600);
  });

  it('is renamed when it is full, between two lines, and the oldest are deleted', async (context) => {
    const directory = await folder(context);
    const path = join(directory, 'audit.log');
    // A clock that stands still: no two files may get one name.
    const { output, issues } = openFile(path, { maximumBackups: 2, clock: () => Date.UTC(2026, 0, 31) });
    const opened = await output;
    for (const text of ['a', 'b', 'c', 'd', 'e']) await append(opened, lineOf(text, 600));
    let names: string[] = [];
    for (let tries = 0; tries < 200 && names.length !== 3; tries++) {
      names = (await readdir(directory)).sort();
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(names, [
      'audit-2026-01-31T00-00-00.002.log',
      'audit-2026-01-31T00-00-00.003.log',
      'audit.log',
    ]);
    assert.match(await readFile(path, 'utf8'), /^e+\n$/);
    await opened.close();
    assert.deepEqual(issues, []);
  });

  it('takes a line that is longer than a whole file may be', async (context) => {
    const path = join(await folder(context), 'audit.log');
    const output = await openFile(path, { maximumSize: 10 }).output;
    await append(output, lineOf('a', 50));
    await output.close();
    assert.equal((await stat(path)).size, 50);
  });

  it('begins anew when somebody has renamed it', async (context) => {
    const path = join(await folder(context), 'audit.log');
    const output = await openFile(path).output;
    await append(output, lineOf('a', 10));
    await rename(path, `${path}.1`);
    assert.deepEqual(await output.reopen(), { isEmpty: true });
    await append(output, lineOf('b', 10));
    await output.close();
    assert.equal(await readFile(path, 'utf8'), 'bbbbbbbbb\n');
    assert.equal(await readFile(`${path}.1`, 'utf8'), 'aaaaaaaaa\n');
  });

  it('goes on when somebody has taken it away at the moment at which it is full', async (context) => {
    const path = join(await folder(context), 'audit.log');
    const { output, issues } = openFile(path);
    const opened = await output;
    await append(opened, lineOf('a', 600));
    await rm(path);
    await append(opened, lineOf('b', 600));
    await opened.close();
    assert.match(await readFile(path, 'utf8'), /^b+\n$/);
    assert.deepEqual(issues, []);
  });

  it('says why it cannot be opened', async (context) => {
    const directory = await folder(context);
    await assert.rejects(openFile(directory).output, { code: 'EISDIR' });
    await assert.rejects(openFile(join(directory, 'none', 'audit.log')).output, { code: 'ENOENT' });
  });
});

describe('a device that is full', () => {
  it('costs events that are counted, and no more', {
    skip: process.platform !== 'linux' && 'no /dev/full',
  }, async () => {
    const { logger, lines } = recordingLogger();
    const counts = { written: 0, dropped: 0 };
    const log = new AuditLog({
      output: await openFile('/dev/full').output,
      bufferSize: 10,
      failures: new FailureLog({ logger, clock: () => 0 }),
      onEvents: (result, events) => {
        counts[result] += events;
      },
      retryInterval: 1,
    });
    for (let count = 0; count < 25; count++) log.write(auditEvent(`id-${count}`));
    await eventually(() => lines.some(({ message }) => message === 'The audit log cannot be written'));
    assert.deepEqual(counts, { written: 0, dropped: 15 });
    await log.close();
    assert.deepEqual(counts, { written: 0, dropped: 25 });
  });
});

describe('a descriptor', () => {
  it('takes events as a file does', async (context) => {
    const path = join(await folder(context), 'out');
    const descriptor = openSync(path, 'a');
    context.after(() => closeSync(descriptor));
    const log = new AuditLog({
      output: new DescriptorOutput(descriptor),
      bufferSize: 10,
      failures: new FailureLog({ logger: recordingLogger().logger, clock: () => 0 }),
      onEvents: () => {},
    });
    log.write(auditEvent('one'));
    await log.reopen();
    log.write(auditEvent('two'));
    await log.close();
    assert.deepEqual(auditIdsOf(await readFile(path, 'utf8')), ['one', 'two']);
  });
});

const noon = Date.UTC(2026, 0, 31, 12, 0, 0, 7);

test('a full file is named after the moment, and knows it again', () => {
  const rotated = rotatedName('/var/log/audit.log', noon);
  assert.equal(rotated, '/var/log/audit-2026-01-31T12-00-00.007.log');
  assert.equal(rotatedAt('/var/log/audit.log', 'audit-2026-01-31T12-00-00.007.log'), noon);
  assert.equal(rotatedName('/var/log/audit', noon), '/var/log/audit-2026-01-31T12-00-00.007');
});

test('files that only look alike are left alone', () => {
  for (const name of [
    'audit.log',
    'audit-2026.log',
    'audit-2026-01-31T12-00-00.007.log.gz',
    'my-audit-2026-01-31T12-00-00.007.log',
    'audit-9999-99-99T99-99-99.999.log',
    'audit-policy.yaml',
  ]) {
    assert.equal(rotatedAt('/var/log/audit.log', name), undefined, name);
  }
});

test('the oldest go: those beyond the number, and those beyond the age', () => {
  const names = [0, 1, 2, 3].map((age) => rotatedName('audit.log', noon - days(age)));
  const others = ['audit.log', 'policy.yaml'];
  const expired = (maximumAge: number, maximumBackups: number) =>
    expiredNames('audit.log', [...names, ...others], { maximumAge, maximumBackups }, noon);
  assert.deepEqual(expired(0, 0), []);
  assert.deepEqual(expired(0, 3), names.slice(3));
  assert.deepEqual(expired(days(1), 0), names.slice(2));
  assert.deepEqual(expired(days(1), 1), names.slice(1));
});
