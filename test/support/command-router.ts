import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { flagArguments } from '../../scripts/harness/command.ts';
import { sealSnapshot } from '../../src/snapshot/signing/seal.ts';
import { generateSigningKey, signingKeyOf } from '../../src/snapshot/signing/signing-key.ts';
import { type ApiServerDouble, startApiServer } from './api-server-double.ts';
import { assertionKeysFile, type Speaker, speaker } from './assertions.ts';
import { type Authority, type CertificatePair, createAuthority } from './certificates.ts';
import { type CommandProcess, startCommandProcess } from './command-process.ts';
import { eventually } from './eventually.ts';
import { snapshotOf } from './snapshot-builder.ts';
import { servingPair, writePair } from './started-router.ts';

/** The files and the API server of a router that is started as a command. */
export interface CommandRouterFixture {
  readonly apiServer: ApiServerDouble;
  readonly cluster: Authority;
  /** Whose assertions are believed; its issuer is `edge`. */
  readonly edge: Speaker;
  path(name: string): string;
  write(name: string, text: string): Promise<void>;
  /** `serve` with these flags beside those that every router needs. */
  args(flags?: Readonly<Record<string, readonly string[] | undefined>>): readonly string[];
  /** A sealed snapshot of this generation, in which the local server serves pods. */
  sealed(generation: number): Promise<string>;
  superuser(): Promise<CertificatePair>;
}

/** A router that runs as a command. */
export interface CommandRouter {
  readonly command: CommandProcess;
  readonly port: number;
  /** Where it has an admin address. */
  readonly adminOrigin: string | undefined;
}

export async function createCommandRouterFixture(context: TestContext): Promise<CommandRouterFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'command-router-'));
  context.after(() => rm(directory, { recursive: true, force: true }));
  const path = (name: string): string => join(directory, name);
  const write = async (name: string, text: string): Promise<void> => {
    await writeFile(path(`${name}.new`), text);
    await rename(path(`${name}.new`), path(name));
  };
  const [cluster, frontProxies] = await Promise.all([
    createAuthority('kubernetes'),
    createAuthority('kubernetes-front-proxy-ca'),
  ]);
  const apiServer = await startApiServer(context, 'h2', {
    pair: await servingPair(cluster, 'kube-apiserver'),
    clientAuthorities: frontProxies.certificate,
  });
  const frontProxy = await frontProxies.issue({ commonName: 'front-proxy-client', usage: 'client' });
  const snapshotKey = await generateSigningKey('EdDSA');
  const edge = await speaker('edge');
  await Promise.all([
    writePair(write, 'serving', await servingPair(cluster, 'router')),
    writePair(write, 'front-proxy', frontProxy),
    write('ca.crt', cluster.certificate),
    write('keys.json', JSON.stringify({ keys: [snapshotKey.publicJwk] })),
    write('assertion-keys.json', assertionKeysFile([edge])),
  ]);
  return {
    apiServer,
    cluster,
    edge,
    path,
    write,
    args: (flags = {}) => [
      'serve',
      ...flagArguments({
        'server-id': ['cp-a'],
        'local-server': [`https://127.0.0.1:${apiServer.port}`],
        'bind-address': ['127.0.0.1'],
        'secure-port': ['0'],
        'tls-cert-file': [path('serving.crt')],
        'tls-private-key-file': [path('serving.key')],
        'client-ca-file': [path('ca.crt')],
        'peer-ca-file': [path('ca.crt')],
        'proxy-client-cert-file': [path('front-proxy.crt')],
        'proxy-client-key-file': [path('front-proxy.key')],
        'snapshot-keys': [path('keys.json')],
        'snapshot-file': [path('snapshot')],
        'assertion-keys': [path('assertion-keys.json')],
        'file-check-interval': ['24h'],
        'health-check-interval': ['0s'],
        'allow-loopback-peers': ['true'],
        'logging-format': ['json'],
        ...flags,
      }),
    ],
    sealed: (generation) =>
      sealSnapshot(
        snapshotOf(
          { 'cp-a': { serves: ['v1/pods'], address: `127.0.0.1:${apiServer.port}` } },
          { generation },
        ),
        signingKeyOf(snapshotKey.privateJwk),
      ),
    superuser: () =>
      cluster.issue({ commonName: 'admin', organizations: ['system:masters'], usage: 'client' }),
  };
}

/** Starts `serve` with these flags; killed, if it still runs, when the test is over. */
export async function startCommandRouter(
  context: TestContext,
  fixture: CommandRouterFixture,
  flags: Readonly<Record<string, readonly string[] | undefined>> = {},
): Promise<CommandRouter> {
  const command = startCommandProcess(context, fixture.args(flags));
  // The admin address is told of before that.
  const serving = (): string | undefined => /^.*"msg":"Serving".*$/m.exec(command.log())?.[0];
  await eventually(() => serving() !== undefined || !command.isRunning(), 60_000);
  assert.ok(command.isRunning(), `the router did not start: ${command.log()}`);
  const { origin, adminOrigin } = JSON.parse(serving() ?? '');
  return { command, port: Number(new URL(origin).port), adminOrigin };
}
