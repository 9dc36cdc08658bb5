import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type {
  HealthConfig,
  RunningRouter,
  ServeConfig,
} from '../../../src/node/configuration/serve-config.ts';
import type { Snapshot } from '../../../src/snapshot/format/schema.ts';
import { sealedMediaType } from '../../../src/snapshot/receiving/snapshot-endpoint.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../../src/snapshot/signing/seal.ts';
import { type ApiServerDouble, type Protocol, startApiServer } from '../api-servers/api-server-double.ts';
import { ask, type WireAnswer } from '../clients/ask.ts';
import {
  clusterAuthority,
  frontProxyAuthority,
  proxyClientPair,
  servingPair,
} from '../security/certificates.ts';
import { keptLog } from '../security/kept-log.ts';
import { assertNoSecretIn, keepSecret } from '../security/secrets.ts';
import { type SnapshotOptions, snapshotOf } from '../snapshots/snapshot-builder.ts';
import { portOf, type RouterByFlags, startRouterByFlags } from './router-by-flags.ts';
import { completeServeOptions, type FlagChanges } from './serve-options.ts';

const generated = await generateSigningKey('EdDSA');
export const snapshotKey = signingKeyOf(generated.privateJwk);
keepSecret(String(generated.privateJwk.d));

/** Pinned by every router under test; `readFile` of the command line finds them under these names. */
const commonFiles: Readonly<Record<string, string>> = {
  'ca.crt': clusterAuthority.certificate,
  'front-proxy-ca.crt': frontProxyAuthority.certificate,
  'serving.crt': servingPair.chain,
  'serving.key': servingPair.privateKey,
  'front-proxy-client.crt': proxyClientPair.chain,
  'front-proxy-client.key': proxyClientPair.privateKey,
  'snapshot-keys.json': JSON.stringify({ keys: [generated.publicJwk] }),
};

/** Which resources tell the servers apart. */
export const targets = {
  local: '/api/v1/namespaces/default/pods',
  peer: '/apis/batch/v1/namespaces/default/jobs',
} as const;

export interface Backends {
  readonly local: ApiServerDouble;
  readonly peer: ApiServerDouble;
  /** No snapshot names it: nothing may ever reach it. */
  readonly stranger: ApiServerDouble;
}

export interface RouterUnderTest extends Backends {
  readonly port: number;
  readonly running: RunningRouter;
  readonly logLines: readonly string[];
  /** Pushes a snapshot as the sync job does. */
  push(snapshot: Snapshot): Promise<WireAnswer>;
  /** Requests that all three backends got. */
  allRequests(): ApiServerDouble['requests'];
}

export type Configure = (config: ServeConfig) => ServeConfig;

/** How health is found out, where it is found out at all. */
export function withHealth(changes: Partial<HealthConfig>): Configure {
  return ({ health, ...config }) => ({ ...config, health: health && { ...health, ...changes } });
}

interface RouterUnderTestOptions {
  readonly serverId?: string;
  /** Protocol of the backends. Default HTTP/1.1, where smuggling is possible. */
  readonly destinations?: Protocol;
  readonly flags?: FlagChanges;
  /** For what no flag sets. */
  readonly configure?: Configure;
  /** Made from the backends; `undefined` pushes none. Default: `clusterSnapshot`. */
  readonly snapshot?: (backends: Backends) => Snapshot | undefined;
}

/** Something that listens on loopback. */
interface Listening {
  readonly port: number;
}

/** Local serves pods, the peer also jobs. */
export function clusterSnapshot(
  backends: { readonly peer: Listening },
  options: SnapshotOptions = {},
): Snapshot {
  return snapshotOf(
    {
      local: { serves: ['v1/pods', 'apps/v1/deployments'] },
      peer: { serves: ['v1/pods', 'batch/v1/jobs'], address: `127.0.0.1:${backends.peer.port}` },
    },
    options,
  );
}

/**
 * A whole router, started from its command line's flags, on loopback TLS, in front of three recording servers.
 * When the test ends everything it logged is searched for secrets.
 */
export async function startRouterUnderTest(
  context: TestContext,
  options: RouterUnderTestOptions = {},
): Promise<RouterUnderTest> {
  const { serverId = 'local', destinations: protocol = 'http/1.1', snapshot = clusterSnapshot } = options;
  const logLines: string[] = [];
  // Before the router's own: hooks run in the order in which they were registered.
  const [local, peer, stranger] = await Promise.all([
    startApiServer(context, 'local', { protocol }),
    startApiServer(context, 'peer', { protocol }),
    startApiServer(context, 'stranger', { protocol }),
  ]);
  const flags: FlagChanges = { 'server-id': [serverId], 'local-server': [local.origin], ...options.flags };
  const running = await startRunning(context, logLines, flags, options);
  const port = portOf(running);
  const router: RouterUnderTest = {
    local,
    peer,
    stranger,
    port,
    running,
    logLines,
    push: (pushed) => pushSnapshot(port, pushed),
    allRequests: () => [local, peer, stranger].flatMap(({ requests }) => requests),
  };
  const first = snapshot(router);
  if (first !== undefined) assert.equal((await router.push(first)).status, 200);
  return router;
}

/** A router by itself. */
export interface RouterOnPort extends RunningRouter {
  readonly port: number;
}

interface RunningOptions extends Pick<RouterByFlags, 'configure' | 'source'> {
  /** How long requests have at the end of the test. Milliseconds. */
  readonly closes?: number;
}

/** One router by its flags, whose servers the test has started. Everything it logs is kept in `logLines` and searched at the end. */
export async function startRunning(
  context: TestContext,
  logLines: string[],
  flags: FlagChanges,
  { closes, ...options }: RunningOptions = {},
): Promise<RouterOnPort> {
  const running = await startRouterByFlags(
    { ...commonFlags, ...flags },
    {
      ...options,
      logger: keptLog(logLines),
      readFile: (path) => commonFiles[path] ?? assert.fail(`no file ${path}`),
    },
  );
  context.after(async () => {
    await running.close(closes);
    for (const line of logLines) assertNoSecretIn(line, `the log line ${line}`);
  });
  return Object.assign(running, { port: portOf(running) });
}

export async function pushSnapshot(port: number, snapshot: Snapshot): Promise<WireAnswer> {
  return pushText(port, await sealSnapshot(snapshot, snapshotKey));
}

/** @param body what is sent instead of a sealed snapshot */
export function pushText(port: number, body: string): Promise<WireAnswer> {
  return ask(port, {
    client: 'admin',
    method: 'PUT',
    path: '/.mixed-version-proxy/v1/snapshot',
    headers: ['content-type', sealedMediaType],
    body,
  });
}

const commonFlags: FlagChanges = {
  ...completeServeOptions,
  'server-id': undefined,
  'local-server': undefined,
  'snapshot-file': undefined,
  'bind-address': ['127.0.0.1'],
  'secure-port': ['0'],
  'allow-loopback-peers': ['true'],
  // Tests look at every request that the backends get.
  'health-check-interval': ['0s'],
};
