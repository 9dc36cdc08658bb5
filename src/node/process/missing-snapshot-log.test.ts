import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { startRouterWithFiles } from '../../../test/support/started-router.ts';
import { askOverHttp2, openHttp2 } from '../../../test/support/tls-client.ts';
import { sealSnapshot, signingKeyOf } from '../../snapshot/signing/seal.ts';

test('a router logs that it has no snapshot yet, and when one is in use', async (context) => {
  const { logs, port, authorities, snapshotKey, user } = await startRouterWithFiles(context);
  const about = () => logs.filter(({ message }) => /snapshot/i.test(message)).map(({ message }) => message);
  assert.deepEqual(about(), ['There is no snapshot yet: the router is not ready']);
  const session = openHttp2(context, {
    port,
    ca: authorities.cluster.certificate,
    pair: await user('admin', ['system:masters']),
  });
  const snapshot = snapshotOf({ 'cp-a': { version: 'v1.36.0', serves: ['v1/pods'] } });
  const body = await sealSnapshot(snapshot, signingKeyOf(snapshotKey.privateJwk));
  const target = '/.mixed-version-proxy/v1/snapshot';
  assert.equal((await askOverHttp2(session, target, { method: 'PUT', body })).status, 200);
  assert.deepEqual(about().slice(1), ['Snapshot in use']);
});
