/**
 * Surroundings of the examples of docstrings, by the names that they use: a control plane of the demo and what a
 * program around the library has. Everything is real: example API servers, routers, certificates, keys.
 */

import { mkdtempSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { aborted } from '../../../demo/aborted.ts';
import type { DemoCertificates } from '../../../demo/certificates.ts';
import { validateServeOptions } from '../../../demo/checked-flags.ts';
import { demoServers, startCluster } from '../../../demo/cluster.ts';
import { type DemoControlPlane, withControlPlane } from '../../../demo/control-plane.ts';
import { serveFlags } from '../../../demo/routers.ts';
import { readTextFile } from '../../../src/cli/terminal/command-context.ts';
import {
  createAddressPolicy,
  type Destination,
  type Logger,
  parseSnapshotKeys,
  type RoutingTable,
  type Snapshot,
  SnapshotReceiver,
  sealSnapshot,
  signingKeyOf,
} from '../../../src/index.ts';
import { NodeTransport, type ServeConfig } from '../../../src/node/index.ts';
import { HttpRouter } from '../../../src/proxy/handle-request.ts';
import { resolveOptions } from '../../../src/proxy/options.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { type ServerDescription, syncOnce } from '../../../src/sync/node/index.ts';
export interface Surroundings {
  /** The oldest API server. */
  readonly apiServer: ServerDescription & { readonly url: string };
  /** Parts of a router in front of it: its ID in the snapshot, and the destination of its requests. */
  readonly serverId: string;
  readonly local: Destination;
  readonly transport: NodeTransport;
  readonly router: HttpRouter;
  /** A snapshot of all three API servers, in force. */
  readonly snapshot: Snapshot;
  readonly table: RoutingTable;
  readonly receiver: SnapshotReceiver;
  /** A router that runs, and what another one could be started with. */
  readonly routerUrl: string;
  readonly config: ServeConfig;
  /** PEM. */
  readonly certificateAuthorities: string;
  readonly cert: string;
  readonly key: string;
  /** The sync job's. */
  readonly clientCertificate: { readonly certificate: string; readonly key: string };
  readonly privateJwk: JWK;
  readonly logger: Logger;
  readonly signal: AbortSignal;
  /** A new, empty one for each example. */
  readonly folder: string;
}

export const surroundingNames: readonly (keyof Surroundings)[] = [
  'apiServer',
  'serverId',
  'local',
  'transport',
  'router',
  'snapshot',
  'table',
  'receiver',
  'routerUrl',
  'config',
  'certificateAuthorities',
  'cert',
  'key',
  'clientCertificate',
  'privateJwk',
  'logger',
  'signal',
  'folder',
];

let current: Surroundings | undefined;

/** Surroundings that an example takes its names from. */
export function surroundings(): Surroundings {
  if (current === undefined) throw new Error('startSurroundings comes first');
  return { ...current, folder: mkdtempSync(join(current.folder, 'example-')) };
}

/** @returns what ends everything */
export async function startSurroundings(): Promise<() => Promise<void>> {
  const home = await mkdtemp(join(tmpdir(), 'docstring-examples-'));
  const stop = new AbortController();
  const ready = Promise.withResolvers<void>();
  const options = {
    directory: join(home, 'demo'),
    startServers: (certificates: DemoCertificates) => startCluster(certificates, demoServers.toReversed()),
  };
  const running = withControlPlane(options, async (controlPlane) => {
    current = await surroundingsOf(controlPlane, home, stop.signal);
    ready.resolve();
    await aborted(stop.signal);
  });
  await Promise.race([ready.promise, running]);
  return async () => {
    stop.abort();
    await running;
    await rm(home, { recursive: true, force: true });
  };
}

async function surroundingsOf(
  controlPlane: DemoControlPlane,
  folder: string,
  signal: AbortSignal,
): Promise<Surroundings> {
  const { apiServers, routers, certificates } = controlPlane;
  const read = (file: string) => readFile(file, 'utf8');
  const servers = apiServers.map(({ serverId, url }) => ({ id: serverId, url }));
  const [apiServer] = servers;
  const [apiRouter] = routers;
  if (apiServer === undefined || apiRouter === undefined) throw new Error('the demo has no API server');
  const certificateAuthorities = await read(certificates.clusterCa);
  const clientCertificate = {
    certificate: await read(certificates.sync.certificate),
    key: await read(certificates.sync.privateKey),
  };
  const privateJwk: JWK = JSON.parse(await read(controlPlane.keys.signing));
  const { snapshot } = await syncOnce(
    {
      servers,
      files: [{ file: join(folder, 'first') }],
      certificateAuthorities,
      clientCertificate,
      signingKey: privateJwk,
    },
    signal,
  );
  if (snapshot === undefined) throw new Error('no snapshot was made');
  const keys = await parseSnapshotKeys(await read(controlPlane.keys.public));
  const receiver = new SnapshotReceiver({
    keys: () => (keys.ok ? keys.keys : new Map()),
    addressPolicy: createAddressPolicy({ allowLoopback: true }),
  });
  await receiver.accept(await sealSnapshot(snapshot, signingKeyOf(privateJwk)));
  const table = receiver.current();
  if (table === undefined) throw new Error('the snapshot was not taken');

  const transport = new NodeTransport({
    credentials: { peerCertificateAuthorities: certificateAuthorities, frontProxy: clientCertificate },
  });
  controlPlane.endWith(async () => transport.close());
  const local: Destination = {
    kind: 'local',
    id: apiServer.id,
    origin: apiServer.url,
    serverName: 'kubernetes.default.svc',
    trust: { kind: 'peer-ca' },
  };
  const options = {
    apiServer: { serverId: apiServer.id, url: apiServer.url },
    certificates,
    snapshotKeys: controlPlane.keys.public,
    snapshotFile: join(folder, 'snapshot-of-another-router'),
    logger: silentLogger,
  };
  const validated = await validateServeOptions(serveFlags(options), {
    readFile: readTextFile,
  });
  if (!validated.ok) throw new Error(validated.issues.map(({ message }) => message).join('\n'));
  return {
    apiServer,
    serverId: apiServer.id,
    local,
    transport,
    router: new HttpRouter(resolveOptions({ local, routingTable: receiver, transport })),
    snapshot,
    table,
    receiver,
    routerUrl: apiRouter.origin,
    config: validated.config,
    certificateAuthorities,
    cert: await read(certificates.router.certificate),
    key: await read(certificates.router.privateKey),
    clientCertificate,
    privateJwk,
    logger: silentLogger,
    signal,
    folder,
  };
}
