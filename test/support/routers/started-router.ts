import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { RawServeFlags } from '../../../demo/checked-flags.ts';
import type { RunningRouter } from '../../../src/node/configuration/serve-config.ts';
import type { Snapshot } from '../../../src/snapshot/format/schema.ts';
import {
  type GeneratedSigningKey,
  generateSigningKey,
  sealSnapshot,
  signingKeyOf,
} from '../../../src/snapshot/signing/seal.ts';
import { type ApiServerDouble, startApiServer } from '../api-servers/api-server-double.ts';
import { type Authority, type CertificatePair, createAuthority } from '../certificates.ts';
import { type Answer, askOverHttp2, openHttp2 } from '../clients/tls-client.ts';
import { type LogLine, recordingLogger } from '../recording-logger.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { type GivenFlags, portOf, startRouterByFlags } from './router-by-flags.ts';

/** The authorities of a cluster. */
interface ClusterAuthorities {
  readonly cluster: Authority;
  readonly frontProxies: Authority;
}

/** A router as `serve` starts it, in front of one API server, with all its files in a folder of its own. */
export interface StartedRouter {
  readonly router: RunningRouter;
  readonly port: number;
  readonly authorities: ClusterAuthorities;
  readonly apiServer: ApiServerDouble;
  readonly logs: readonly LogLine[];
  /** Replaces a file as a renewal does: by a whole new one. */
  write(name: string, text: string): Promise<void>;
  /** The folder of all the files. */
  path(name: string): string;
  /** The key that snapshots have to be signed with at first. */
  readonly snapshotKey: GeneratedSigningKey;
  /** A client certificate of the cluster's authority. */
  user(commonName: string, organizations?: readonly string[]): Promise<CertificatePair>;
  /** User with this client certificate, over a connection of their own. Default: a super-user. */
  asUser(pair?: CertificatePair): Promise<RouterUser>;
}

interface RouterUser {
  readonly pair: CertificatePair;
  ask(target: string, request?: Parameters<typeof askOverHttp2>[2]): Promise<Answer>;
  /** Signs it by the key that counted at first. */
  push(snapshot: Snapshot): Promise<Answer>;
}

export interface StartedRouterOptions {
  /** Protocol of the API server. Default `h2`. */
  readonly protocol?: 'h2' | 'http/1.1';
  /** Flags beside those that every router needs. */
  readonly flags?: GivenFlags;
  /** Authority that signs the API server's certificate, in place of the cluster's authority (`local-ca.crt`). */
  readonly localAuthority?: Authority;
  /** Authorities of another router of the same cluster. Default: new ones. */
  readonly authorities?: ClusterAuthorities;
}

const serverNames = {
  dnsNames: ['kubernetes.default.svc', 'localhost'],
  ipAddresses: ['127.0.0.1'],
} as const;

/** The folder of a router and the API server that it stands in front of. */
interface RouterFiles
  extends Pick<StartedRouter, 'authorities' | 'apiServer' | 'write' | 'path' | 'snapshotKey'> {
  /** Flags that every router needs. */
  readonly flags: RawServeFlags;
}

/** Made anew, without a router. */
export async function routerFiles(
  context: TestContext,
  {
    protocol = 'h2',
    localAuthority,
    ...options
  }: Pick<StartedRouterOptions, 'protocol' | 'localAuthority' | 'authorities'> = {},
): Promise<RouterFiles> {
  const directory = await temporaryDirectory(context);
  const path = (name: string): string => join(directory, name);
  const write = async (name: string, text: string): Promise<void> => {
    await writeFile(path(`${name}.new`), text);
    await rename(path(`${name}.new`), path(name));
  };
  const authorities: ClusterAuthorities = options.authorities ?? {
    cluster: await createAuthority('kubernetes'),
    frontProxies: await createAuthority('kubernetes-front-proxy-ca'),
  };
  const { cluster, frontProxies } = authorities;
  const apiServer = await startApiServer(context, 'cp-a', {
    protocol,
    pair: await servingPair(localAuthority ?? cluster, 'kube-apiserver'),
    clientAuthorities: frontProxies.certificate,
  });
  apiServer.lets = ['sync', 'system:monitoring'];
  await writePair(write, 'serving', await servingPair(cluster, 'router'));
  await writePair(
    write,
    'front-proxy',
    await frontProxies.issue({ commonName: 'front-proxy-client', usage: 'client' }),
  );
  await write('ca.crt', cluster.certificate);
  await write('peer-ca.crt', cluster.certificate);
  await write('front-proxy-ca.crt', frontProxies.certificate);
  if (localAuthority !== undefined) await write('local-ca.crt', localAuthority.certificate);
  const snapshotKey = await generateSigningKey('EdDSA');
  await write('keys.json', JSON.stringify({ keys: [snapshotKey.publicJwk] }));
  return {
    authorities,
    apiServer,
    write,
    path,
    snapshotKey,
    flags: {
      'server-id': ['cp-a'],
      'local-server': [`https://127.0.0.1:${apiServer.port}`],
      'bind-address': ['127.0.0.1'],
      'secure-port': ['0'],
      'tls-cert-file': [path('serving.crt')],
      'tls-private-key-file': [path('serving.key')],
      'client-ca-file': [path('ca.crt')],
      'peer-ca-file': [path('peer-ca.crt')],
      'proxy-client-cert-file': [path('front-proxy.crt')],
      'proxy-client-key-file': [path('front-proxy.key')],
      'requestheader-client-ca-file': [path('front-proxy-ca.crt')],
      'requestheader-allowed-names': ['front-proxy-client'],
      'snapshot-keys': [path('keys.json')],
      // Tests look at every request that the API server gets.
      'health-check-interval': ['0s'],
      ...(localAuthority === undefined ? {} : { 'local-server-ca-file': [path('local-ca.crt')] }),
    },
  };
}

/** A router whose files are looked at only when the test says so. Closed at the end of the test. */
export async function startRouterWithFiles(
  context: TestContext,
  options: StartedRouterOptions = {},
): Promise<StartedRouter> {
  const { flags, ...made } = await routerFiles(context, options);
  const { authorities } = made;
  const { logger, lines: logs } = recordingLogger();
  const router = await startRouterByFlags({ ...flags, ...options.flags }, { logger, source: (own) => own });
  context.after(() => router.close(0));
  const port = portOf(router);
  const user: StartedRouter['user'] = (commonName, organizations = []) =>
    authorities.cluster.issue({ commonName, organizations, usage: 'client' });
  return {
    ...made,
    router,
    port,
    logs,
    user,
    async asUser(given) {
      const pair = given ?? (await user('kubernetes-admin', ['system:masters']));
      const session = openHttp2(context, { port, ca: authorities.cluster.certificate, pair });
      const ask: RouterUser['ask'] = (target, request) => askOverHttp2(session, target, request);
      return {
        pair,
        ask,
        async push(snapshot) {
          const body = await sealSnapshot(snapshot, signingKeyOf(made.snapshotKey.privateJwk));
          return ask('/.mixed-version-proxy/v1/snapshot', { method: 'PUT', body });
        },
      };
    },
  };
}

/** A serving pair of the router. */
export function servingPair(authority: Authority, commonName: string): Promise<CertificatePair> {
  return authority.issue({ commonName, ...serverNames, usage: 'server' });
}

/** Writes `<name>.crt` and `<name>.key`. */
export async function writePair(
  write: StartedRouter['write'],
  name: string,
  pair: CertificatePair,
): Promise<void> {
  await write(`${name}.crt`, pair.chain);
  await write(`${name}.key`, pair.privateKey);
}
