/**
 * Costs of the router as a Worker, on workerd itself: CPU time of its start, of its first request and of later ones, and memory.
 * Each start is a new process that finds its snapshot stored: 400 resources of 3 servers in 2 versions. Beside it stands a bare
 * proxy of hono. Linux only. `npm run lab -- worker`; `--starts 15` of each, in turns; `--against DIRECTORY` measures another
 * build, as `npm run build -- --worker` makes it, in the same turns.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'esbuild';
import { Agent, request } from 'undici';
import type { EdgeTls, PemPair, RunningEdge } from '../../demo/edge/running-edge.ts';
import { startWorkerd } from '../../demo/edge/start-workerd.ts';
import { bundleWorkerBuild, readWorkerBuild, type WorkerBuild } from '../../demo/edge/worker-build.ts';
import { sealSnapshot } from '../../src/snapshot/signing/seal.ts';
import { type OidcProvider, openOidcProvider } from '../../test/support/api-servers/oidc-provider.ts';
import type { CertificatePair } from '../../test/support/certificates.ts';
import { createEdgeCluster, type EdgeCluster } from '../../test/support/edge/edge-cluster.ts';
import { type TokenSigner, tokenSigner } from '../../test/support/token-signer.ts';
import { withCleanup } from '../harness/cleanup.ts';
import { countFrom, runExperiment } from '../harness/command-line.ts';
import { threadTimeOf, usageOf } from '../harness/process-usage.ts';
import { median } from '../harness/statistics.ts';
import { markdownTable } from '../report/text-table.ts';
import { largeCluster } from './large-cluster.ts';

const target = '/api/v1/namespaces';
/** Milliseconds of quiet, in which threads of V8 end what they have begun. */
const quiet = 300;
const audience = 'worker';
const resources = 400;

/** Something that is measured. */
interface Contender {
  readonly name: string;
  readonly build: WorkerBuild;
  readonly environment: Readonly<Record<string, string>>;
  /** Sent with each request. */
  readonly headers: Readonly<Record<string, string>>;
  /** Holds its stored snapshot. */
  readonly directory: string;
  readonly found: Figures[];
}

interface Figures {
  readonly start: number;
  readonly first: number;
  readonly later: number;
  readonly resident: readonly number[];
}

await runExperiment(
  'worker',
  {
    starts: { type: 'string', default: '15', value: 'N', about: 'starts of each' },
    requests: {
      type: 'string',
      default: '2000',
      value: 'N',
      about: 'later requests, the last three quarters of which count',
    },
    against: { type: 'string', value: 'DIRECTORY', about: 'another build, measured in the same turns' },
  },
  async ({ against, ...counts }) => {
    const starts = countFrom('starts', counts.starts);
    const later = countFrom('requests', counts.requests, 4);
    await withCleanup(async (cleanup) => {
      const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-worker-'));
      cleanup.add(() => rm(directory, { recursive: true, force: true }));
      const cluster = await createEdgeCluster();
      cleanup.add(() => cluster.close());
      const signer = await tokenSigner();
      const provider = await openOidcProvider(cluster.serving, signer);
      cleanup.add(() => provider.close());
      const tls = tlsOf(cluster);
      const contenders = await contendersOf({ cluster, signer, provider, directory, against });
      for (let turn = 0; turn < starts; turn++) {
        for (const contender of contenders)
          contender.found.push(await measure(contender, cluster, tls, later));
      }
      console.log(tableOf(contenders, later));
    });
    return 0;
  },
);

function tableOf(contenders: readonly Contender[], later: number): string {
  const heads = ['', 'start, CPU ms', 'first request, CPU ms', 'later ones, CPU µs', 'memory, MiB'];
  const rows = contenders.map(({ name, found }) => [
    name,
    median(found.map(({ start }) => start)).toFixed(1),
    median(found.map(({ first }) => first)).toFixed(1),
    median(found.map(({ later }) => later)).toFixed(0),
    [0, 1, 2].map((at) => median(found.map(({ resident }) => resident[at] ?? 0)).toFixed(1)).join(' / '),
  ]);
  return `${markdownTable([heads, ...rows])}\n\nMemory: after the start, the first request, and ${later} more.`;
}

/** A Worker that forwards by hono, and knows nothing else. */
async function bareBuild(like: WorkerBuild): Promise<WorkerBuild> {
  const contents = `
    import { Hono } from 'hono/tiny';
    export class SnapshotObject {}
    const app = new Hono();
    app.all('*', (c) => {
      const { pathname, search } = new URL(c.req.url);
      return fetch(new Request(c.env.LOCAL_SERVER + pathname + search, c.req.raw));
    });
    export default app;`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    format: 'esm',
    minify: true,
    write: false,
  });
  return { ...like, modules: [{ name: 'index.js', text: outputFiles[0]?.text ?? '' }] };
}

interface Parts {
  readonly cluster: EdgeCluster;
  readonly signer: TokenSigner;
  readonly provider: OidcProvider;
  readonly directory: string;
  readonly against: string | undefined;
}

async function contendersOf(parts: Parts): Promise<Contender[]> {
  const { cluster, signer, provider, directory, against } = parts;
  const own = await bundleWorkerBuild();
  const builds = [
    { name: 'the router', build: own },
    ...(against === undefined ? [] : [{ name: against, build: await readWorkerBuild(against) }]),
  ];
  const plain = {
    SERVER_ID: 'apiserver-0',
    LOCAL_SERVER: cluster.local.origin,
    SNAPSHOT_KEYS: JSON.stringify({ keys: [cluster.syncKey.publicJwk] }),
    ALLOW_LOOPBACK_PEERS: 'true',
  };
  const signing = {
    ...plain,
    ...tokenVariables(provider),
    ASSERTION_ISSUER: 'edge',
    ASSERTION_SIGNING_KEY: JSON.stringify(cluster.syncKey.privateJwk),
  };
  const authorization = await bearer('jane', signer, provider);
  const unread = { authorization: 'Bearer of-another-issuer' };
  const kinds = [
    { name: 'bare hono', build: await bareBuild(own), environment: plain, headers: unread },
    ...builds.map((each) => ({
      ...each,
      name: `${each.name}, tokens passing`,
      environment: plain,
      headers: unread,
    })),
    ...builds.map((each) => ({
      ...each,
      name: `${each.name}, token verified, assertion signed`,
      environment: signing,
      headers: { authorization },
    })),
  ];
  const body = await sealedSnapshot(cluster);
  return Promise.all(
    kinds.map(async (kind, index) => {
      const contender = { ...kind, directory: join(directory, String(index)), found: [] };
      await mkdir(contender.directory);
      if (index > 0) await storeSnapshot(contender, parts, body);
      return contender;
    }),
  );
}

function tokenVariables({ issuer, keysUrl }: OidcProvider) {
  const [TOKEN_ISSUER, TOKEN_AUDIENCE, TOKEN_JWKS_URL] = [issuer, audience, keysUrl];
  return { TOKEN_ISSUER, TOKEN_AUDIENCE, TOKEN_JWKS_URL, TOKEN_GROUPS_CLAIM: 'groups' };
}

async function bearer(sub: string, signer: TokenSigner, { issuer }: OidcProvider): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer, aud: audience, sub, groups: ['dev'], iat: now, exp: now + 7_200 };
  return `Bearer ${await signer.sign(claims)}`;
}

async function sealedSnapshot({ local, peer, syncKey }: EdgeCluster): Promise<string> {
  const large = largeCluster(resources);
  const readings = new Map(await large.readings(2, 3));
  const ports = [local.port, peer.port, peer.port];
  const addresses = new Map([...readings.keys()].map((id, index) => [id, `127.0.0.1:${ports[index]}`]));
  return sealSnapshot(await large.build(readings, undefined, addresses), syncKey.key);
}

/** By a push, as the sync job does it, to a router that knows who that is. */
async function storeSnapshot(contender: Contender, parts: Parts, body: string): Promise<void> {
  const { cluster, signer, provider } = parts;
  const { ASSERTION_SIGNING_KEY: _, ...rest } = contender.environment;
  const pushed = { ...contender, environment: { ...rest, ...tokenVariables(provider) } };
  const tls = { ...tlsOf(cluster), frontProxyClient: pemPair(cluster.frontProxyClient) };
  const authorization = await bearer('sync', signer, provider);
  await onEdge(pushed, tls, cluster, async (edge, dispatcher) => {
    const answer = await request(`${edge.origin}/.mixed-version-proxy/v1/snapshot`, {
      dispatcher,
      method: 'PUT',
      headers: { 'content-type': 'application/jose', authorization },
      body,
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`the snapshot was not taken: ${text}\n${edge.output()}`);
  });
}

function tlsOf({ serving, authority }: EdgeCluster): EdgeTls {
  return { serving: pemPair(serving), destinationAuthorities: authority.certificate };
}

function pemPair({ chain, privateKey }: CertificatePair): PemPair {
  return { certificate: chain, privateKey };
}

function measure(
  contender: Contender,
  cluster: EdgeCluster,
  tls: EdgeTls,
  laterRequests: number,
): Promise<Figures> {
  return onEdge(contender, tls, cluster, async ({ origin, pid }, dispatcher) => {
    const { headers } = contender;
    const ask = async () => {
      const answer = await request(`${origin}${target}`, { dispatcher, headers });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`${contender.name}: ${answer.statusCode} ${text}`);
    };
    const look = async () => {
      await sleep(quiet);
      return { cpu: await threadTimeOf(pid), resident: (await usageOf(pid)).resident / 1024 };
    };
    const atStart = await look();
    await ask();
    const afterFirst = await look();
    const counted = Math.floor((laterRequests * 3) / 4);
    for (let count = counted; count < laterRequests; count++) await ask();
    const warm = await threadTimeOf(pid);
    for (let count = 0; count < counted; count++) await ask();
    const later = ((await threadTimeOf(pid)) - warm) / counted;
    const atEnd = await look();
    return {
      start: atStart.cpu,
      first: afterFirst.cpu - atStart.cpu,
      later: later * 1_000,
      resident: [atStart.resident, afterFirst.resident, atEnd.resident],
    };
  });
}

/** Does something on a new process, with connections of its own. */
async function onEdge<Result>(
  { build: worker, environment, directory }: Contender,
  tls: EdgeTls,
  { authority }: EdgeCluster,
  act: (edge: RunningEdge, dispatcher: Agent) => Promise<Result>,
): Promise<Result> {
  const edge = await startWorkerd({ directory, tls, environment, build: worker });
  const dispatcher = new Agent({ allowH2: false, connections: 1, connect: { ca: authority.certificate } });
  try {
    return await act(edge, dispatcher);
  } finally {
    await dispatcher.destroy();
    await edge.close();
  }
}
