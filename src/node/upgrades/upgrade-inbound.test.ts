import assert from 'node:assert/strict';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { RequestRecord } from '../../request/request-record.ts';
import { RequestDeadlines } from '../exchange/node-inbound.ts';
import { UpgradeInbound } from './upgrade.ts';

test('an upgrade that times out before its response gets a 504, and its dial ends', async (context) => {
  const clock = { now: 0 };
  const deadlines = new RequestDeadlines({ timeout: 1_000, clock: () => clock.now });
  context.after(() => deadlines.stop());
  const client = new PassThrough();
  const inbound = new UpgradeInbound(new IncomingMessage(new Socket()), client, {
    clientCertificateOf: () => ({}),
    deadlines,
  });
  const record = new RequestRecord(inbound, [], () => clock.now);
  inbound.record = record;
  inbound.limitDuration();
  clock.now = 10_000;
  deadlines.check();
  assert.equal(inbound.takeResponse(), false);
  assert.equal(inbound.signal.aborted, true);
  const text = Buffer.concat(await client.toArray()).toString();
  assert.match(text, /^HTTP\/1\.1 504 .*"reason":"Timeout"/s);
  assert.deepEqual([record.dropped, record.status], ['RequestTimeout', 504]);
});

test('an upgrade that is over, or switched, is no longer ended by its deadline', (context) => {
  const clock = { now: 0 };
  const deadlines = new RequestDeadlines({ timeout: 1_000, clock: () => clock.now });
  context.after(() => deadlines.stop());
  const client = new PassThrough();
  const options = { clientCertificateOf: () => ({}), deadlines };
  const inbound = new UpgradeInbound(new IncomingMessage(new Socket()), client, options);
  inbound.limitDuration();
  assert.equal(inbound.takeResponse(), true);
  inbound.liftDeadline();
  clock.now = 10_000;
  deadlines.check();
  assert.equal(client.destroyed, false);
  assert.equal(deadlines.expired, 0);
});
