import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mixedCluster } from '../../test/support/clusters/decision-rows.ts';
import { recordingLogger } from '../../test/support/recording-logger.ts';
import {
  type RecordingTransport,
  recordingTransport,
} from '../../test/support/routers/recording-transport.ts';
import { testApp, userConnection } from '../../test/support/routers/test-app.ts';
import { accessLog } from './access-log.ts';
import { TransportError } from './destination.ts';

async function linesOf(
  target: string,
  transport = recordingTransport(),
  connection = userConnection('alice'),
) {
  const { logger, lines } = recordingLogger();
  let now = 0;
  const observers = [accessLog(logger)];
  const slow: RecordingTransport = {
    sent: transport.sent,
    send(...sent) {
      now += 400;
      return transport.send(...sent);
    },
  };
  const { app } = await testApp({
    snapshot: mixedCluster,
    observers,
    monotonicClock: () => now,
    connection,
    transport: slow,
  });
  await app.request(`https://router${target}`, {
    headers: { 'audit-id': 'id-1', 'user-agent': 'kubectl/v1.33' },
  });
  return lines.map(({ message, fields }): Record<string, unknown> => ({ message, ...fields }));
}

test('each request has one line with the names of kube-apiserver, and where it went', async () => {
  const [{ destination, ...line } = {}, ...others] = await linesOf('/apis/batch/v1/jobs?limit=500');
  assert.deepEqual(line, {
    message: 'HTTP',
    v: 3,
    verb: 'list',
    URI: '/apis/batch/v1/jobs?limit=500',
    latency: 0.4,
    userAgent: 'kubectl/v1.33',
    'audit-ID': 'id-1',
    srcIP: '10.0.0.8',
    resp: 200,
    user: 'alice',
    decision: 'peer',
    reason: 'ServedByPeer',
  });
  assert.equal(typeof destination, 'string');
  assert.deepEqual(others, []);
});

test('a line tells of the second try, and of a target that was refused', async () => {
  const failing = recordingTransport(() => {
    throw new TransportError('TLSFailed', 'refused', { mayHaveBeenProcessed: false });
  });
  const [tried] = await linesOf('/apis/batch/v1/jobs', failing);
  assert.deepEqual(
    {
      attempts: tried?.['attempts'],
      failure: tried?.['failure'],
      resp: tried?.['resp'],
      again: tried?.['again'],
    },
    { attempts: 2, failure: 'TLSFailed', resp: 503, again: 'enough' },
  );
  const [refused] = await linesOf('/api/v1/watch');
  assert.deepEqual({ verb: refused?.['verb'], resp: refused?.['resp'] }, { verb: 'GET', resp: 500 });
});
