import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sealSnapshot } from '../../src/snapshot/signing/seal.ts';
import { signingKeyOf } from '../../src/snapshot/signing/signing-key.ts';
import { snapshotOf } from '../support/snapshot-builder.ts';
import { startRouterWithFiles } from '../support/started-router.ts';
import { askOverHttp2, openHttp2 } from '../support/tls-client.ts';
import { accessibilityFaults } from './support/accessibility.ts';
import {
  inChromium,
  keepPicture,
  passTimeUntil,
  startPageRouter,
  useChromium,
} from './support/status-page.ts';

const serves = ['v1/pods'];

describe('the routers on the status page', inChromium, () => {
  const browser = useChromium();

  it('are all there, with where they differ, until they agree; one that is down is not said to be well', async (context) => {
    const first = await startPageRouter(context);
    const port = Number(new URL(first.origin).port);
    const host = '127.0.0.2';
    const second = await startRouterWithFiles(context, {
      authorities: first.authorities,
      flags: {
        'server-id': ['cp-b'],
        'bind-address': [host],
        'secure-port': [String(port)],
        'allow-loopback-peers': ['true'],
      },
    });
    const clusterWith = (version: string, generation: number) =>
      snapshotOf(
        {
          'cp-a': { serves, version: 'v1.35.0', address: `127.0.0.1:${first.ports.local}` },
          'cp-b': { serves, version, address: `${host}:${second.apiServer.port}`, hostname: 'node-2' },
        },
        { generation, createdAt: new Date().toISOString() },
      );
    const session = openHttp2(context, {
      host,
      port,
      ca: first.authorities.cluster.certificate,
      pair: await second.user('admin', ['system:masters']),
    });
    const pushToSecond = async (version: string, generation: number) => {
      const body = await sealSnapshot(
        clusterWith(version, generation),
        signingKeyOf(second.snapshotKey.privateJwk),
      );
      const target = '/.mixed-version-proxy/v1/snapshot';
      assert.equal((await askOverHttp2(session, target, { method: 'PUT', body })).status, 200);
    };
    await first.push(clusterWith('v1.36.0', 7));
    await pushToSecond('v1.35.0', 3);

    const { page, complaints } = await first.open(browser());
    const routers = page.locator('#routers');
    await routers.getByText('They differ in 1 thing').waitFor();
    const difference = routers.getByRole('listitem');
    assert.equal(await difference.textContent(), `server node-2: v1.36.0 says cp-a; v1.35.0 says node-2`);
    const rows = routers.locator('tbody tr');
    assert.match((await rows.nth(0).textContent()) ?? '', /^\s*cp-a this router\s.*Ready.*Generation 7/s);
    assert.match(
      (await rows.nth(1).textContent()) ?? '',
      /^\s*node-2\s.*127\.0\.0\.2:.*Ready.*Generation 3/s,
    );
    assert.deepEqual(await accessibilityFaults(page), []);
    await keepPicture(page, 'routers');

    await pushToSecond('v1.36.0', 4);
    await passTimeUntil(page, routers.getByText('They agree'));
    assert.equal(await difference.count(), 0);

    await second.router.close(0);
    await passTimeUntil(page, routers.getByText('Whether they agree is not known'));
    assert.match(
      (await rows.nth(1).textContent()) ?? '',
      /Not known\s*https:\/\/127\.0\.0\.2:\d+ cannot be reached from the router that was asked/,
    );
    assert.equal(await rows.nth(1).locator('.badge.good').count(), 0);
    assert.deepEqual(complaints, []);
  });
});
