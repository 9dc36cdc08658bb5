import type * as v from 'valibot';
import { boolean, section, setting } from '../../node/configuration/setting-types.ts';
import { readFlags } from '../settings/read-settings.ts';
import type { Command } from '../terminal/command.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { jsonText, outputSetting } from '../terminal/structured-text.ts';
import { readStatus } from './ask-router.ts';
import { readAllRouters, readRouters } from './read-routers.ts';
import {
  type RouterConnection,
  readRouterConnections,
  routerConnectionSettings,
} from './router-connection.ts';
import { routersText } from './routers-text.ts';
import { agreementOf, differencesBetween } from './routers-view.ts';
import { isHealthy, statusText } from './status-text.ts';

const flags = section('Flags:', {
  ...routerConnectionSettings,
  all: setting('all', boolean, {
    description:
      'Ask the routers of the other servers as well: where they advertise an address (--advertise-address), else on the same port at the hosts of their servers. Exits with 1 when a router is not known: then name all with --server, without --all.',
  }),
  output: outputSetting,
});

type StatusOptions = v.InferOutput<typeof flags>;

export const statusCommand: Command = {
  description:
    'Show what a running router knows: whether it is ready, its servers with version and health, what they serve differently, its snapshot, and what needs attention. Several routers: a row each, and whether they agree. Exits with 1 while a router is not ready, routers differ, an API server is not healthy, or a resource has no healthy server. RBAC must allow the caller the path (ClusterRole mixed-version-proxy-monitor).',
  examples: [
    {
      comment: 'As the user of a kubeconfig; the router is the server that it names.',
      line: 'status --kubeconfig admin.conf',
    },
    {
      comment: 'One router of several.',
      line: ['status --kubeconfig admin.conf', '--server https://10.0.0.1:7443'],
    },
    {
      comment: 'Whether the routers of all servers are ready and agree.',
      line: 'status --kubeconfig admin.conf --all',
    },
  ],
  flags: [flags],
  async run(given, context) {
    const options = readFlags(flags, given);
    if (options.all === true && (options.server ?? []).length > 1) {
      throw new CommandFailure(2, [
        '--all begins at one router: give one --server, or name all routers and leave --all out',
      ]);
    }
    const connections = await readRouterConnections(options, context);
    const { text, isGood } = await (options.all === true || connections.length > 1
      ? routersOutput(connections, options, context)
      : statusOutput(connections[0], options, context));
    await context.writeOutput(text);
    return isGood ? 0 : 1;
  },
};

interface StatusOutput {
  readonly text: string;
  /** Each router is ready, its API servers are healthy and serve everything. Several routers also agree. */
  readonly isGood: boolean;
}

/** @throws {CommandFailure} exit code 1 when the router does not tell. */
async function statusOutput(
  connection: RouterConnection,
  { output }: StatusOptions,
  context: CommandContext,
): Promise<StatusOutput> {
  const status = await readStatus(connection);
  const isGood = isHealthy(status);
  if (output === 'json') return { text: jsonText(status), isGood };
  return { text: statusText(status, context.clock(), context.outputTakesColor, connection.origin), isGood };
}

async function routersOutput(
  connections: readonly [RouterConnection, ...RouterConnection[]],
  { output, all }: StatusOptions,
  context: CommandContext,
): Promise<StatusOutput> {
  const { routers, notAsked } = await (all === true
    ? readAllRouters(connections[0])
    : readRouters(connections));
  const differences = differencesBetween(routers);
  const agree = agreementOf(routers, differences, notAsked);
  const areHealthy = routers.every(({ status }) => status !== null && isHealthy(status));
  const isGood = areHealthy && agree !== false && notAsked.length === 0;
  if (output === 'json') return { text: jsonText({ agree, differences, notAsked, routers }), isGood };
  return {
    text: routersText({ agree, differences, notAsked, routers }, context.clock(), context.outputTakesColor),
    isGood,
  };
}
