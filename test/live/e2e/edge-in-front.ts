import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncJobName } from '../../../demo/certificates.ts';
import { startDemoSync } from '../../../demo/sync.ts';
import { startWorkerd } from '../../../scripts/edge/start-workerd.ts';
import { startTokenIssuer } from '../../../scripts/edge/token-issuer.ts';
import { generateKeyFiles, publicKeysFile, signingKeyFile } from '../../../src/cli/commands/keygen.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import type { ControlPlane } from '../control-plane.ts';
import type { LiveRouter } from '../routers.ts';

const edgeName = 'edge';
const keysDirectory = 'edge-keys';

/** Makes the key that the edge signs with. @returns flags of the routers that are to believe it */
export async function assertionFlags({ path }: ControlPlane): Promise<Record<string, readonly string[]>> {
  await generateKeyFiles(path(keysDirectory), 'EdDSA');
  const { keys } = JSON.parse(await readFile(join(path(keysDirectory), publicKeysFile), 'utf8')) as {
    keys: object[];
  };
  const file = join(path(keysDirectory), 'routers.json');
  await writeFile(file, JSON.stringify({ keys: keys.map((key) => ({ ...key, issuer: edgeName })) }));
  return { 'assertion-keys': [file] };
}

export interface EdgeInFront {
  readonly origin: string;
  /** A token of a user that the edge verifies and the routers believe it for. */
  token(name: string, groups: readonly string[]): Promise<string>;
}

/**
 * Starts a Worker on workerd in front of the routers (docs/guides/edge.md): it reaches no API server by
 * itself. What it cannot check, service account tokens among it, passes through.
 */
export async function startEdgeInFront(
  { certificates, path, servers, signingKey, snapshotKeys, endWith }: ControlPlane,
  routers: readonly LiveRouter[],
  variables: Readonly<Record<string, string>>,
): Promise<EdgeInFront> {
  const tokens = await startTokenIssuer(certificates.router);
  endWith(() => tokens.close());
  await mkdir(path('edge'));
  const clusterAuthority = await readFile(certificates.clusterCa, 'utf8');
  const [server] = servers;
  const [router] = routers;
  if (server === undefined || router === undefined) throw new TypeError('there are no routers');
  const edge = await startWorkerd({
    directory: path('edge'),
    tls: {
      serving: {
        certificate: await readFile(certificates.router.certificate, 'utf8'),
        privateKey: await readFile(certificates.router.privateKey, 'utf8'),
      },
      destinationAuthorities: clusterAuthority,
    },
    environment: {
      SERVER_ID: server.serverId,
      LOCAL_SERVER: router.origin,
      SNAPSHOT_KEYS: await readFile(snapshotKeys, 'utf8'),
      ASSERTION_SIGNING_KEY: await readFile(join(path(keysDirectory), signingKeyFile), 'utf8'),
      ASSERTION_ISSUER: edgeName,
      ...tokens.variables,
      ALLOW_LOOPBACK_PEERS: 'true',
      ...variables,
    },
  });
  endWith(async () => {
    await edge.close();
    await writeFile(path('edge.log'), edge.output());
  });
  const syncToken = await tokens.issue({ name: syncJobName, groups: [] });
  endWith(
    await startDemoSync({
      signingKey,
      // Clients of this snapshot reach a server through the router in front of it.
      servers: servers.map(({ serverId, url }, index) => ({
        id: serverId,
        url: routers[index]?.origin,
        readFrom: url,
      })),
      targets: [{ url: edge.origin }],
      certificates,
      bearerToken: async () => syncToken,
      logger: silentLogger,
    }),
  );
  return { origin: edge.origin, token: (name, groups) => tokens.issue({ name, groups }) };
}
