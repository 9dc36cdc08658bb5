import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { getRequestListener } from '@hono/node-server';
import { httpsServer } from '../../../test/support/api-servers/https-server.ts';
import { createAuthority } from '../../../test/support/certificates.ts';
import { exampleCluster } from '../../../test/support/clusters/example-cluster.ts';
import { eventually } from '../../../test/support/eventually.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { systemClock } from '../../runtime/time.ts';
import { createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { SnapshotReceiver } from '../../snapshot/receiving/receiver.ts';
import { getSnapshot } from '../../snapshot/receiving/snapshot-endpoint.ts';
import { SnapshotPushes } from '../../snapshot/receiving/snapshot-pushes.ts';
import { parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import { generateSigningKey } from '../../snapshot/signing/seal.ts';
import { runSync } from './run-sync.ts';

const soon = { initialMilliseconds: 5, maximumMilliseconds: 20 };
const hour = 3_600_000;

/** Everything that one authority stands for. */
async function issued(name: string) {
  const authority = await createAuthority(name);
  const names = { dnsNames: ['kubernetes.default.svc'], ipAddresses: ['127.0.0.1'] };
  const serving = await authority.issue({ commonName: 'kube-apiserver', ...names, usage: 'server' });
  const client = await authority.issue({
    commonName: 'sync-job',
    organizations: ['system:masters'],
    usage: 'client',
  });
  return { ca: authority.certificate, serving, client };
}

test('authorities, certificates and keys that are replaced while the job runs reach readers, watches and deliveries', async (context) => {
  const folder = await temporaryDirectory(context);
  const path = (name: string) => join(folder, name);
  const renew = async ({ ca, client }: Awaited<ReturnType<typeof issued>>) => {
    await writeFile(path('ca.crt'), ca);
    await writeFile(path('client.crt'), client.chain);
    await writeFile(path('client.key'), client.privateKey);
  };
  const [before, after] = [await issued('before'), await issued('after')];
  await renew(before);

  const cluster = await exampleCluster(context);
  const startServer = (version: '1.26' | '1.36', { ca, serving }: typeof before, port?: number) =>
    cluster.start('cp-a', version, {
      tls: { cert: serving.chain, key: serving.privateKey },
      clientCa: ca,
      ...(port === undefined ? {} : { port }),
    });
  const first = await startServer('1.26', before);
  const kubeconfig = await cluster.kubeconfig(first.url, {
    cluster: { 'certificate-authority': path('ca.crt') },
    user: { 'client-certificate': path('client.crt'), 'client-key': path('client.key') },
  });

  const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
  const pinned = await parseSnapshotKeys(JSON.stringify({ keys: [publicJwk] }));
  const keys = pinned.ok ? pinned.keys : new Map();
  const receiver = new SnapshotReceiver({
    keys: () => keys,
    addressPolicy: createAddressPolicy({ allowLoopback: true }),
  });
  const startRouter = ({ ca, serving }: typeof before, port?: number) =>
    httpsServer(
      context,
      { cert: serving.chain, key: serving.privateKey, ca, requestCert: true, rejectUnauthorized: true },
      getRequestListener((request) =>
        request.method === 'PUT'
          ? new SnapshotPushes(receiver).take({ body: request.body, queue: '' })
          : getSnapshot(request.headers.get('accept') ?? undefined, receiver),
      ),
      port,
    );
  const router = await startRouter(before);

  let elapsed = 0;
  const text = (name: string) => readFileSync(path(name), 'utf8');
  const stop = new AbortController();
  const running = runSync(
    {
      servers: [],
      kubernetes: { kubeconfig },
      peers: { allowLoopback: true },
      credentials: () => ({
        certificateAuthorities: text('ca.crt'),
        clientCertificate: { certificate: text('client.crt'), key: text('client.key') },
      }),
      certificateAuthorities: text('ca.crt'),
      routers: [{ url: `https://127.0.0.1:${router.port}` }],
      clientCertificate: { certificate: text('client.crt'), key: text('client.key') },
      signingKey: privateJwk,
      clock: { ...systemClock, monotonic: () => systemClock.monotonic() + elapsed },
      timing: { interval: 10, watchBackOff: soon, deliveryBackOff: soon, readBackOff: soon, check: 10 },
    },
    stop.signal,
  );
  context.after(() => {
    stop.abort();
    return running;
  });
  const versions = () => receiver.current()?.servers.map(({ version }) => version) ?? [];
  await eventually(
    () => versions().includes('v1.26.15') || versions().some((one) => one?.startsWith('v1.26')),
  );

  // All at once, with an authority that has nothing in common with the one before; then the hour of a token passes.
  await router.close();
  await cluster.kill(first);
  await renew(after);
  elapsed += hour;
  await startServer('1.36', after, first.port);
  await startRouter(after, router.port);
  await eventually(() => versions().some((one) => one?.startsWith('v1.36')));
  // By a watch, which was opened anew: a server that comes.
  const second = await cluster.start('cp-b', '1.36', {
    tls: { cert: after.serving.chain, key: after.serving.privateKey },
    clientCa: after.ca,
  });
  await eventually(() => receiver.current()?.server(second.serverId)?.version !== undefined);
});
