import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { auditEvent, auditIdsOf } from '../../../test/support/audit-events.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { FailureLog } from '../../runtime/logger.ts';
import { AuditLog } from './audit-log.ts';
import type { AuditOutput } from './audit-output.ts';

/** A disk with so much room: what does not fit is refused, a part of it taken. */
class Disk implements AuditOutput {
  /** What stands in each file, the one in use last. */
  readonly files: string[] = [''];
  room = Number.POSITIVE_INFINITY;
  /** Set: the next write waits for it. */
  hold: Promise<void> | undefined;
  cannotReopen = false;
  isClosed = false;

  async prepare(): Promise<void> {}

  async write(bytes: Uint8Array): Promise<number> {
    await this.hold;
    const taken = Math.min(bytes.length, this.room);
    if (taken === 0) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    this.room -= taken;
    this.files.push((this.files.pop() ?? '') + Buffer.from(bytes.subarray(0, taken)).toString());
    return taken;
  }

  async reopen(): Promise<{ readonly isEmpty: boolean }> {
    if (this.cannotReopen) throw new Error('is a directory');
    this.files.push('');
    return { isEmpty: true };
  }

  async close(): Promise<void> {
    this.isClosed = true;
  }
}

function auditLog(bufferSize = 100) {
  const disk = new Disk();
  const counts = { written: 0, dropped: 0 };
  const { logger, lines } = recordingLogger();
  const log = new AuditLog({
    output: disk,
    bufferSize,
    failures: new FailureLog({ logger, clock: () => 0 }),
    onEvents: (result, events) => {
      counts[result] += events;
    },
    retryInterval: 1,
  });
  const write = (...ids: string[]) => {
    for (const id of ids) log.write(auditEvent(id));
  };
  return { disk, counts, log, write, messages: () => lines.map(({ message }) => message) };
}

const ids = (count: number) => Array.from({ length: count }, (_, index) => `id-${index}`);

describe('the audit log', () => {
  it('writes each event as one line, in order', async () => {
    const { disk, counts, log, write } = auditLog();
    write(...ids(50));
    await log.close();
    assert.deepEqual(auditIdsOf(disk.files.join('')), ids(50));
    assert.deepEqual(counts, { written: 50, dropped: 0 });
    assert.equal(disk.isClosed, true);
  });

  it('keeps what a full disk does not take, and writes it once there is room, whole and once', async () => {
    const { disk, counts, log, write, messages } = auditLog();
    disk.room = 150;
    write(...ids(10));
    await eventually(() => messages().length > 0);
    assert.deepEqual(messages(), ['The audit log cannot be written'], 'one line, however often it is tried');
    write('later');
    disk.room = Number.POSITIVE_INFINITY;
    await eventually(() => counts.written === 11);
    assert.deepEqual(auditIdsOf(disk.files.join('')), [...ids(10), 'later']);
    await log.close();
    assert.equal(counts.dropped, 0);
  });

  it('counts and tells of what it loses when there is no room to wait any more', async () => {
    const { disk, counts, log, write, messages } = auditLog(5);
    disk.room = 0;
    write(...ids(8));
    assert.equal(counts.dropped, 3);
    assert.ok(messages().includes('Audit events are lost: the buffer is full'));
    disk.room = Number.POSITIVE_INFINITY;
    await eventually(() => counts.written === 5);
    assert.deepEqual(auditIdsOf(disk.files.join('')), ids(5));
    write('again');
    await log.close();
    assert.deepEqual(counts, { written: 6, dropped: 3 });
  });

  it('never makes a request wait: a write that hangs only fills the buffer', () => {
    const { disk, counts, write } = auditLog(5);
    disk.hold = new Promise(() => {});
    write(...ids(1_000));
    assert.equal(counts.dropped, 995);
  });

  it('goes on in a new file when it is asked to', async () => {
    const { disk, log, write } = auditLog();
    write('old');
    await log.reopen();
    write('new');
    await log.close();
    const [first = '', second = ''] = disk.files;
    // What was waiting may go to either file, and to one of them only.
    assert.deepEqual([...auditIdsOf(first), ...auditIdsOf(second)], ['old', 'new']);
    assert.deepEqual(auditIdsOf(second).at(-1), 'new');
  });

  it('leaves a disk that stays full: lines that it took a part of begin anew in the new file', async () => {
    const { disk, counts, log, write, messages } = auditLog();
    disk.room = 150;
    write(...ids(10));
    await eventually(() => messages().length > 0);
    disk.room = Number.POSITIVE_INFINITY;
    await log.reopen();
    assert.deepEqual(auditIdsOf(disk.files.at(-1) ?? ''), ids(10));
    await log.close();
    assert.deepEqual(counts, { written: 10, dropped: 0 });
  });

  it('goes on in the old file when there can be no new one', async () => {
    const { disk, counts, log, write, messages } = auditLog();
    disk.cannotReopen = true;
    await log.reopen();
    assert.deepEqual(messages(), ['The audit log cannot be written']);
    disk.cannotReopen = false;
    write('id');
    await log.close();
    assert.deepEqual(counts, { written: 1, dropped: 0 });
  });

  it('counts what could not be written before the end, and what comes after it', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] });
    const { disk, counts, log, write } = auditLog();
    disk.hold = new Promise(() => {});
    write(...ids(3));
    const closed = log.close();
    context.mock.timers.tick(5_000);
    await closed;
    write('late');
    assert.deepEqual(counts, { written: 0, dropped: 4 });
  });
});
