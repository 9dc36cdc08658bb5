import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { apiServerId } from '../../demo/example-api-server/cluster.ts';
import { serverIdsOf } from './endpoints.ts';

test('the IDs of a host are those that real servers took', async () => {
  // test/fixtures: the Leases of 1.26 servers on the hosts cp-a and cp-b.
  assert.ok((await serverIdsOf('cp-b')).includes('kube-apiserver-nxibzygiy5v5qmcjmernh6erfe'));
  assert.ok((await serverIdsOf('cp-a')).includes('kube-apiserver-hxhuy3rsmzqt3nvdbfa4wlpycq'));
});

test('any host name, however long and in whatever script, has the ID that an independent implementation makes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 400 }), async (hostname) => {
      assert.equal((await serverIdsOf(hostname))[0], apiServerId(hostname));
    }),
  );
});
