import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classicResponses, fakeServer } from '../../test/support/fake-server-documents.ts';
import { syncOnce } from './sync-once.ts';

test('a target that throws is a failed delivery, and the other targets get the snapshot', async () => {
  const delay = { initialMilliseconds: 1, maximumMilliseconds: 1 };
  const { ok, deliveries } = await syncOnce(
    {
      servers: [{ id: 'x', address: 'x:6443', documents: fakeServer(classicResponses({ v1: ['pods'] })) }],
      targets: [
        { name: 'one', put: async () => assert.fail('a bug') },
        { name: 'other', put: async () => ({ kind: 'accepted' }) },
      ],
      timing: { deliveryBackOff: delay },
    },
    new AbortController().signal,
  );
  assert.equal(ok, false);
  assert.deepEqual(deliveries, [
    { target: 'one', result: { kind: 'unreachable', message: 'a bug' } },
    { target: 'other', result: { kind: 'accepted' } },
  ]);
});
