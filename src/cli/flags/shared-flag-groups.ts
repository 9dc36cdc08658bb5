import { parseHttpsOrigin } from '../../snapshot/addresses/addresses.ts';
import type { FlagDefinition, FlagGroup } from './flag.ts';
import { boolean, choice, duration, type FlagType, file, list, text } from './flag-types.ts';

/** How much a command logs, and in which form. @param shown what level 4 adds, for the help */
export const logFlagGroup = <Level extends FlagType<number>>(shown: string, level: Level) =>
  ({
    heading: 'Log flags:',
    flags: [
      {
        name: 'v',
        short: 'v',
        key: 'logging.verbosity',
        value: level,
        default: '0',
        description: `Verbosity. 4 and more shows every ${shown}.`,
      },
      {
        name: 'logging-format',
        key: 'logging.format',
        value: choice('text', 'json'),
        default: 'text',
        description: 'Form of the log lines.',
      },
    ],
  }) as const satisfies FlagGroup;

/**
 * How a cluster is read: flags of `sync`, and of `serve` for the router that does it for itself. One entry for both, so
 * that they mean the same.
 */
export const clusterReadingFlags = {
  server: {
    name: 'server',
    key: 'apiServers.servers',
    value: list('id=https://host:port'),
    description: 'An API server to read, under the ID that routers know it by. Repeatable.',
  },
  kubeconfig: {
    name: 'kubeconfig',
    key: 'apiServers.kubeconfig',
    value: file,
    description: 'Read the cluster of this kubeconfig, and find its API servers there.',
  },
  context: {
    name: 'context',
    key: 'apiServers.context',
    value: text('name'),
    needs: [{ oneOf: ['kubeconfig'] }],
    description: 'Context of --kubeconfig. Default: its current one.',
  },
  inCluster: {
    name: 'in-cluster',
    key: 'apiServers.inCluster',
    value: boolean,
    description: 'The same, as the service account of the pod that this runs in.',
  },
  departedServerGrace: {
    name: 'departed-server-grace',
    key: 'snapshot.departedServerGrace',
    value: duration('0s', undefined, 'a duration such as 15m, or 0s for none'),
    default: '15m',
    description:
      'How long a server that was stopped in order, as for a restart, stays known: its resources get 503 and are Stale in discovery, not 404. 0s: not at all. Only for servers that were found, not listed.',
  },
  cluster: {
    name: 'cluster',
    key: 'snapshot.cluster',
    value: text('name'),
    description: 'Name of the cluster, kept in the snapshot.',
  },
} as const satisfies Readonly<Record<string, FlagDefinition>>;

/** A server as `--server` lists it. */
interface ListedServer {
  readonly id: string;
  /** `undefined`: the flag is invalid. */
  readonly url?: string;
}

/** Reads the entries of `--server`, each `id=https://host:port`. */
export function readListedServers(
  flags: { issue(name: 'server', message: string): undefined },
  entries: readonly string[],
): readonly ListedServer[] {
  const ids = new Set<string>();
  return entries.map((entry) => {
    const equals = entry.indexOf('=');
    if (equals < 1) {
      flags.issue('server', `--server must be id=https://host:port, not "${entry}"`);
      return { id: entry };
    }
    const [id, url] = [entry.slice(0, equals), entry.slice(equals + 1)];
    if (ids.has(id)) flags.issue('server', `--server names ${id} twice`);
    ids.add(id);
    const origin = parseHttpsOrigin(url);
    if (!origin.ok) flags.issue('server', `--server "${url}" ${origin.message}`);
    return { id, url };
  });
}
