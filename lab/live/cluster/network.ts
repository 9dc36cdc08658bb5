import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { ApiServerBinary } from './assets.ts';

/** The variable by which the suite tells itself that it runs in a network namespace of its own. */
const ownNetworkVariable = 'MIXED_VERSION_PROXY_LIVE_OWN_NETWORK';

/** Where the servers of the live cluster answer, and whether the sync job can find them there by itself. */
export interface LiveNetwork {
  /**
   * True if servers have addresses that are not loopback. kube-apiserver writes such addresses only into the endpoints
   * of `default/kubernetes` (pkg/apis/core/validation ValidateNonSpecialIP).
   */
  readonly isOwn: boolean;
  /** One address a server; 127.0.0.1 is the routers' and the forwarders'. */
  readonly addresses: readonly [string, string, string];
}

const ownAddresses = ['10.88.0.11', '10.88.0.12', '10.88.0.13'] as const;

/** The network that this process runs in. */
export function liveNetwork(): LiveNetwork {
  return process.env[ownNetworkVariable] === undefined
    ? { isOwn: false, addresses: ['127.0.0.11', '127.0.0.12', '127.0.0.13'] }
    : { isOwn: true, addresses: ownAddresses };
}

type OwnNetwork =
  /** Runs what follows them in a network namespace that goes with it. */
  | { readonly possible: true; readonly command: string; readonly args: readonly string[] }
  | { readonly possible: false; readonly reason: string };

/** Minor version from which on a server's ID stays the same over an upgrade: the hash of its host name has one form. */
const firstStableServerId = 28;

/** The way to run something in a network namespace, where servers of these versions can have one. */
function ownNetwork(apiServers: readonly Pick<ApiServerBinary, 'minor' | 'version'>[]): OwnNetwork {
  const early = apiServers.find(({ minor }) => minor < firstStableServerId);
  if (early !== undefined) {
    return {
      possible: false,
      reason: `the ID of a ${early.version} server is another one after its upgrade`,
    };
  }
  const namespaces = process.getuid?.() === 0 ? ['--net'] : ['--user', '--map-root-user', '--net'];
  const addresses = ownAddresses.map((address) => `ip address add ${address}/32 dev lo`).join(' && ');
  const args = [...namespaces, '/bin/sh', '-c', `ip link set lo up && ${addresses} && exec "$0" "$@"`];
  const { status, error, stderr } = spawnSync('unshare', [...args, 'true'], { encoding: 'utf8' });
  return status === 0
    ? { possible: true, command: 'unshare', args }
    : { possible: false, reason: error?.message ?? stderr.trim() };
}

/**
 * Runs what is given in a network namespace of its own, by starting this process again in one; where there can be none,
 * says so, and runs it here.
 */
export async function inOwnNetwork(
  apiServers: readonly Pick<ApiServerBinary, 'minor' | 'version'>[],
  run: () => Promise<void>,
): Promise<void> {
  if (process.env[ownNetworkVariable] !== undefined) return runUntilSignal(run);
  const network = ownNetwork(apiServers);
  if (!network.possible) {
    process.stderr.write(
      `No network namespace of the suite's own (${network.reason}): servers are on loopback, and listed by hand.\n`,
    );
    return runUntilSignal(run);
  }
  const child = spawn(
    network.command,
    [...network.args, process.execPath, ...process.execArgv, ...process.argv.slice(1)],
    { stdio: 'inherit', env: { ...process.env, [ownNetworkVariable]: 'true' } },
  );
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
  const [code] = (await once(child, 'exit')) as [number | null];
  process.exitCode = code ?? 1;
}

/**
 * Servers are ended as the process exits, which a signal alone would not let it do in order. A second signal, as a process
 * group gets it, must not cut that short.
 */
async function runUntilSignal(run: () => Promise<void>): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));
  await run();
}
