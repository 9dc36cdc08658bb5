import assert from 'node:assert/strict';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import type { ClientHttp2Session } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { flagArguments } from '../../scripts/harness/command.ts';
import { sealSnapshot } from '../../src/snapshot/seal.ts';
import { generateSigningKey, signingKeyOf } from '../../src/snapshot/signing-key.ts';
import { type ApiServerDouble, startApiServer } from './api-server-double.ts';
import { assertionKeysFile, type Speaker, speaker } from './assertions.ts';
import { type Authority, type CertificatePair, createAuthority } from './certificates.ts';
import { type CommandProcess, startCommandProcess } from './command-process.ts';
import { eventually } from './eventually.ts';
import { type ParsedFamily, parseScrape, sampleValue } from './prometheus-text.ts';
import { snapshotOf } from './snapshot-builder.ts';
import { servingPair, writePair } from './started-router.ts';
import { type Answer, askOverHttp2, openHttp2 } from './tls-client.ts';

export const snapshotPath = '/.mixed-version-proxy/v1/snapshot';

/** A connection of a super-user, and which process of the router has it. */
export interface ProcessConnection {
  readonly session: ClientHttp2Session;
  readonly number: number;
  ask(target: string, options?: Parameters<typeof askOverHttp2>[2]): Promise<Answer>;
  scrape(path?: '/metrics' | '/metrics/slis'): Promise<ReadonlyMap<string, ParsedFamily>>;
}

/** The files and the API server of a router that is started as a command. */
export interface ProcessRouterFixture {
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

/** A router of several processes. */
export interface ProcessRouter extends ProcessRouterFixture {
  readonly command: CommandProcess;
  readonly port: number;
  /** IDs of the processes that serve now, by their numbers. */
  pids(): ReadonlyMap<number, number>;
  /** A connection of its own, to whichever process gets it. */
  connect(): Promise<ProcessConnection>;
  /** One connection to each process, in the order of their numbers. */
  connectToEach(): Promise<readonly ProcessConnection[]>;
}

export async function createProcessRouterFixture(context: TestContext): Promise<ProcessRouterFixture> {
  const directory = await mkdtemp(join(tmpdir(), 'router-processes-'));
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

/** Starts it as a command; killed, if it still runs, when the test is over. */
export async function startProcessRouter(
  context: TestContext,
  fixture: ProcessRouterFixture,
  processes: number,
  flags: Readonly<Record<string, readonly string[] | undefined>> = {},
): Promise<ProcessRouter> {
  const command = startCommandProcess(context, fixture.args({ processes: [String(processes)], ...flags }));
  const port = (): string | undefined => /"origin":"https:\/\/127\.0\.0\.1:(\d+)"/.exec(command.log())?.[1];
  await eventually(() => port() !== undefined || !command.isRunning());
  assert.ok(command.isRunning(), `the router did not start: ${command.log()}`);
  const pair = await fixture.superuser();
  const ca = fixture.cluster.certificate;
  const connect = async (): Promise<ProcessConnection> => {
    const session = openHttp2(context, { port: Number(port()), ca, pair });
    const ask: ProcessConnection['ask'] = (target, options) => askOverHttp2(session, target, options);
    const { text } = await ask('/.mixed-version-proxy/statusz', { headers: ['accept', 'application/json'] });
    return {
      session,
      number: JSON.parse(text).process.number,
      ask,
      async scrape(path = '/metrics') {
        const answer = await ask(`/.mixed-version-proxy${path}`);
        assert.equal(answer.status, 200, answer.text);
        return parseScrape(answer.text, 'text');
      },
    };
  };
  return {
    ...fixture,
    command,
    port: Number(port()),
    pids: () => pidsIn(command.log()),
    connect,
    async connectToEach() {
      const connections = new Map<number, ProcessConnection>();
      // In turn, so that as many as there are processes would do where no other client connects.
      for (let tries = 0; connections.size < processes; tries++) {
        assert.ok(tries < 10 * processes, `${connections.size} of ${processes} processes get connections`);
        const connection = await connect();
        if (connections.has(connection.number)) connection.session.destroy();
        else connections.set(connection.number, connection);
      }
      return [...connections].sort(([one], [other]) => one - other).map(([, connection]) => connection);
    },
  };
}

/** The generation of the snapshot that a process has in use; `undefined`: none. */
export async function generationOf(connection: ProcessConnection): Promise<number | undefined> {
  const { status, text } = await connection.ask(snapshotPath);
  return status === 200 ? JSON.parse(text).metadata.generation : undefined;
}

/** Requests for lists of pods that have been answered with 200. */
export function listedPods(families: ReadonlyMap<string, ParsedFamily>): number {
  const labels = { verb: 'LIST', resource: 'pods', scope: 'cluster', code: '200' };
  return sampleValue(families, 'mixed_version_proxy_requests_total', labels) ?? 0;
}

/** The first two of them. */
export function pairOf<Item>([first, second]: readonly Item[]): [Item, Item] {
  assert.ok(first !== undefined && second !== undefined);
  return [first, second];
}

/** Whether a process is there; one that nobody has waited for yet is not. */
async function isAlive(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat !== '' && !/\) Z /.test(stat);
}

/** Waits until none of these processes is there any more. */
export async function allEnd(pids: Iterable<number>): Promise<void> {
  for (const pid of pids) await eventually(async () => !(await isAlive(pid)));
}

/** The last process that served under each number. */
function pidsIn(log: string): ReadonlyMap<number, number> {
  const lines = log.split('\n').filter((line) => line.includes('"A process serves"'));
  return new Map(
    lines.map((line) => {
      const { otherProcess, otherPid } = JSON.parse(line);
      return [otherProcess, otherPid];
    }),
  );
}
