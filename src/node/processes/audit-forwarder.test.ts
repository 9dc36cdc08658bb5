import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import type { AuditEvent } from '../../observe/audit/audit-event.ts';
import { FailureLog } from '../../observe/failure-log.ts';
import { AuditForwarder, type AuditForwarderOptions } from './audit-forwarder.ts';

const event = (auditID: string): AuditEvent => ({
  kind: 'Event',
  apiVersion: 'audit.k8s.io/v1',
  level: 'Metadata',
  auditID,
  stage: 'ResponseComplete',
  requestURI: '/api/v1/pods',
  verb: 'list',
  user: {},
  requestReceivedTimestamp: '2026-01-01T00:00:00.000000Z',
  stageTimestamp: '2026-01-01T00:00:00.000000Z',
});

function forwarder(options: Partial<AuditForwarderOptions>) {
  const { logger, lines } = recordingLogger();
  let dropped = 0;
  const audit = new AuditForwarder({
    bufferSize: 1_000,
    failures: new FailureLog({ logger, clock: () => 0 }),
    onDropped: (events) => {
      dropped += events;
    },
    handOver: async () => {},
    ...options,
  });
  return { audit, lines, dropped: () => dropped };
}

test('events go over as lines, in order, and those that come together in one message', async () => {
  const messages: (readonly string[])[] = [];
  const { audit } = forwarder({
    handOver: async (lines) => {
      messages.push(lines);
    },
  });
  for (let index = 0; index < 700; index++) audit.write(event(String(index)));
  await audit.close();
  assert.deepEqual(
    messages.map(({ length }) => length),
    [500, 200],
  );
  const ids = messages.flat().map((line) => JSON.parse(line).auditID);
  assert.deepEqual(
    ids,
    Array.from({ length: 700 }, (_, index) => String(index)),
  );
  assert.ok(messages.flat().every((line) => line.endsWith('}\n')));
});

test('what does not fit while the supervisor is slow is lost, counted and told of', async () => {
  const taken = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const { audit, lines, dropped } = forwarder({
    bufferSize: 2,
    handOver: () => {
      asked.resolve();
      return taken.promise;
    },
  });
  audit.write(event('1'));
  await asked.promise;
  for (const id of ['2', '3', '4', '5']) audit.write(event(id));
  assert.equal(dropped(), 2);
  assert.equal(lines.length, 1);
  taken.resolve();
  await audit.close();
  assert.equal(dropped(), 2);
});

test('what the supervisor does not take is counted as lost, and the next events go over', async () => {
  let refuse = true;
  const sent: string[] = [];
  const { audit, dropped } = forwarder({
    handOver: async (lines) => {
      if (refuse) throw new Error('the supervisor gave no answer');
      sent.push(...lines);
    },
  });
  audit.write(event('1'));
  await audit.close();
  assert.equal(dropped(), 1);
  refuse = false;
  audit.write(event('2'));
  await audit.close();
  assert.equal(sent.length, 1);
});

test('attack: a supervisor that hangs is waited for once at the end, however many events wait', async () => {
  let asked = 0;
  const { audit, lines, dropped } = forwarder({
    bufferSize: 2_000,
    handOver: async () => {
      asked++;
      throw new Error('the supervisor gave no answer within 10000 ms');
    },
  });
  for (let index = 0; index < 1_700; index++) audit.write(event(String(index)));
  await audit.close();
  assert.equal(asked, 1);
  assert.equal(dropped(), 1_700);
  assert.equal(lines[0]?.fields['events'], 1_700);
});
