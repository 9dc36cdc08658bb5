import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { startRouterWithFiles } from '../../../test/support/started-router.ts';
import { askOverHttp2, openHttp1, openHttp2, readUntil } from '../../../test/support/tls-client.ts';
import { sealSnapshot } from '../../snapshot/signing/seal.ts';
import { signingKeyOf } from '../../snapshot/signing/signing-key.ts';

const own = '/.mixed-version-proxy/v1';

describe('limits in a configuration file that changes while the router runs', () => {
  it('of requests count for new ones, and what is open beyond them goes on', async (context) => {
    const started = await startRouterWithFiles(context, { configuration: {} });
    const { router, configure, apiServer, port, authorities } = started;
    const client = { port, ca: authorities.cluster.certificate, pair: await started.user('jane') };
    const session = openHttp2(context, client);
    const open = session.request({ ':path': '/api/v1/pods?watch=1' });
    await readUntil(open, 'ADDED');
    await configure({ limits: { longRunningRequests: 1 } });
    await router.reload();
    assert.equal((await askOverHttp2(session, '/api/v1/pods?watch=1')).status, 429);
    apiServer.watches[0]?.write('MODIFIED 1\n');
    await readUntil(open, 'MODIFIED 1');
  });

  it('of connections count for new ones', async (context) => {
    const started = await startRouterWithFiles(context, { configuration: {} });
    const { router, configure, port, authorities } = started;
    const client = { port, ca: authorities.cluster.certificate, pair: await started.user('jane') };
    const session = openHttp2(context, client);
    await once(session, 'connect');
    await configure({ limits: { connections: 1 } });
    await router.reload();
    await assert.rejects(openHttp1(context, client));
    assert.equal((await askOverHttp2(session, '/api/v1/pods')).status, 200);
    await configure({});
    await router.reload();
    await openHttp1(context, client);
  });

  it('of addresses refuse the next snapshot that goes beyond them', async (context) => {
    const started = await startRouterWithFiles(context, { configuration: {} });
    const { router, configure, port, authorities, snapshotKey } = started;
    const pair = await started.user('admin', ['system:masters']);
    const session = openHttp2(context, { port, ca: authorities.cluster.certificate, pair });
    const push = async (generation: number) => {
      const servers = { 'cp-a': ['v1/pods'], 'cp-b': { serves: ['v1/pods'], address: '10.9.0.1:6443' } };
      const snapshot = snapshotOf(servers, { generation });
      const body = await sealSnapshot(snapshot, signingKeyOf(snapshotKey.privateJwk));
      return askOverHttp2(session, `${own}/snapshot`, { method: 'PUT', body });
    };
    assert.equal((await push(1)).status, 200);
    await configure({ peers: { allowedCIDRs: ['10.1.0.0/16'] } });
    await router.reload();
    const refused = await push(2);
    assert.equal(refused.status, 422);
    assert.match(refused.text, /lies outside the allowed address blocks/);
    await configure({ peers: { allowedCIDRs: ['10.0.0.0/8'] } });
    await router.reload();
    assert.equal((await push(2)).status, 200);
  });

  it('of health checks count from the next one on, which is made at once', async (context) => {
    const started = await startRouterWithFiles(context, {
      withoutFlags: ['health-check-interval'],
      configuration: { health: { checkInterval: '1h' } },
    });
    const { router, configure, apiServer, applied } = started;
    const probes = () => apiServer.requests.filter(({ target }) => target === '/readyz').length;
    await eventually(() => probes() === 1);
    await configure({ health: { checkInterval: '200ms', rise: 7 } });
    await router.reload();
    assert.equal(applied.at(-1)?.health?.rise, 7);
    await eventually(() => probes() >= 3);
  });
});
