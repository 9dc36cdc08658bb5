import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { TestContext } from 'node:test';
import type { HealthConfig } from '../../../src/node/configuration/serve-config.ts';
import type { RouterStatus } from '../../../src/own-paths/status/status-schema.ts';
import { type Answer, ApiServerDouble, type Protocol } from '../api-servers/api-server-double.ts';
import { ask } from '../clients/ask.ts';
import { eventually } from '../eventually.ts';
import { clientTls } from '../security/certificates.ts';
import { type ServerOptions, snapshotOf } from '../snapshots/snapshot-builder.ts';
import { pushSnapshot, startRunning, withHealth } from './router-under-test.ts';
import type { FlagChanges } from './serve-options.ts';

export const jobs = '/apis/batch/v1/namespaces/default/jobs';
export const pods = '/api/v1/namespaces/default/pods';

/** An API server that says how it is, and which version. */
export class Server extends ApiServerDouble {
  /** State that the server tells at `/readyz`; `hangs`: nothing, ever. */
  health: 'ready' | 'not-ready' | 'hangs' = 'ready';
  /** Connections stay open, and nothing comes on them: a process that was stopped. */
  isStopped = false;
  /** Answers 403 to everybody, as kube-apiserver does before it knows who may do what. */
  forbids = false;
  /** Version that the server tells at `/version`; a snapshot that is pushed has it. */
  version = 'v1.30.0';
  /** Of each process: one keeps its own whatever the next one is. */
  readonly #versions: string[] = [];
  override answer: Answer = (outgoing, request) => {
    if (this.isStopped) return;
    outgoing.writeHead(this.forbids ? 403 : 200, { 'content-type': 'application/json' });
    if (this.forbids || !request.target.includes('watch=true')) {
      outgoing.end(JSON.stringify({ answeredBy: this.id, gitVersion: this.#versions[request.process] }));
      return;
    }
    this.watches.push(outgoing);
    outgoing.write('{"type":"ADDED"}\n');
  };
  override answerOwn: Answer = (outgoing, request) => {
    if (request.target !== '/readyz') this.answer(outgoing, request);
    else if (!this.isStopped && this.health !== 'hangs') {
      outgoing.writeHead(this.health === 'ready' ? 200 : 500);
      outgoing.end();
    }
  };

  override start(): Promise<void> {
    this.#versions.push(this.version);
    return super.start();
  }
}

async function startServer(context: TestContext, id: string, protocol: Protocol): Promise<Server> {
  const server = new Server(id, { protocol });
  await server.start();
  context.after(() => server.stop());
  return server;
}

/** Quick to decide. */
export const quick: FlagChanges = {
  'health-check-interval': ['250ms'],
};
/** The same of what no flag sets; no machine is so busy that a server which responds takes this long. */
const quickHealth = { timeout: 30_000, rise: 1, fall: 2 };

const statesOf = {
  up: ['ready', 'suspect'],
  down: ['unready', 'unreachable', 'restarting'],
  changed: ['SaysOtherwise'],
} as const;

export interface Cluster {
  readonly port: number;
  readonly local: Server;
  readonly peers: readonly [Server, Server];
  readonly logLines: readonly string[];
  /** Waits until the router finds a server so. */
  becomes(server: Server, status: keyof typeof statesOf): Promise<void>;
  /** Which server answers. */
  answeredBy(path: string): Promise<string>;
  /** Pushes what is known of the servers now. @param more of servers, by ID */
  push(generation: number, more?: Readonly<Record<string, Partial<ServerOptions>>>): Promise<void>;
}

/**
 * A router before `local`, or before all three; the peers serve jobs, and all serve pods.
 * @param health of what no flag sets
 */
export async function startCluster(
  context: TestContext,
  flags: FlagChanges = {},
  protocol: Protocol = 'h2',
  health: Partial<HealthConfig> = {},
): Promise<Cluster> {
  const local = await startServer(context, 'local', protocol);
  const peers = [
    await startServer(context, 'peer-1', protocol),
    await startServer(context, 'peer-2', protocol),
  ] as const;
  const isGateway = flags.gateway !== undefined;
  const logLines: string[] = [];
  const { port } = await startRunning(
    context,
    logLines,
    {
      ...(isGateway ? {} : { 'server-id': ['local'], 'local-server': [local.origin] }),
      ...quick,
      ...flags,
    },
    { configure: withHealth({ ...quickHealth, ...health }) },
  );
  const known = ({ port: listening, version }: Server) => ({ address: `127.0.0.1:${listening}`, version });
  const [first, second] = peers;
  const push: Cluster['push'] = async (generation, more = {}) => {
    const servers = {
      local: { ...known(local), serves: ['v1/pods'], ...more['local'] },
      'peer-1': { ...known(first), serves: ['v1/pods', 'batch/v1/jobs'], ...more['peer-1'] },
      'peer-2': { ...known(second), serves: ['v1/pods', 'batch/v1/jobs'], ...more['peer-2'] },
    };
    assert.equal((await pushSnapshot(port, snapshotOf(servers, { generation }))).status, 200);
  };
  await push(1);
  const statusOf = async (id: string): Promise<readonly (string | null)[]> => {
    const { body } = await ask(port, { client: 'admin', path: '/.mixed-version-proxy/v1/status' });
    const { servers } = JSON.parse(body) as RouterStatus;
    const { status = null, reason = null } = servers.find((server) => server.id === id)?.health ?? {};
    return [status, reason];
  };
  const cluster: Cluster = {
    port,
    local,
    peers,
    logLines,
    async becomes({ id }, status) {
      const states: readonly string[] = statesOf[status];
      await eventually(async () => (await statusOf(id)).some((each) => states.includes(each ?? '')));
    },
    async answeredBy(path) {
      const { status, body } = await ask(port, { client: 'alice', path });
      return status === 200 ? JSON.parse(body).answeredBy : String(status);
    },
    push,
  };
  for (const server of [local, first, second]) await cluster.becomes(server, 'up');
  return cluster;
}

/** A watch whose first event has come. */
export async function watch(context: TestContext, port: number): Promise<IncomingMessage> {
  const outgoing = httpsRequest({
    host: '127.0.0.1',
    port,
    path: `${jobs}?watch=true`,
    agent: false,
    servername: 'localhost',
    ...clientTls('alice'),
  });
  outgoing.end();
  context.after(() => outgoing.destroy());
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  incoming.on('error', () => {});
  await once(incoming, 'data');
  return incoming;
}

export async function readyz(port: number): Promise<number> {
  return (await ask(port, { path: '/readyz' })).status;
}
