#!/usr/bin/env node
/** The demo: `npm start`. */
import { parseArgs } from 'node:util';
import { similarName } from '../src/cli/terminal/similar-name.ts';
import { parseDuration } from '../src/node/configuration/setting-types.ts';

const usage = `Usage: npm start -- [flags]
       npm start -- edge [--directory <directory> | --config <edge.json>]

Runs a cluster on its way from Kubernetes 1.35 to 1.36 on this machine: three example API servers, a router in front of
each, and the sync job. It says what to type. Ctrl-C ends it and leaves nothing behind. With "edge" a router on workerd
stands in front of all, or, with --config, in front of a cluster of yours (docs/guides/edge.md).

  --directory <directory>         Where kubeconfigs, certificates and the log go: a new or empty directory. Default: .demo
  --upgrade                       Upgrade the cluster server by server under a load, a third of it through routers, and
                                  count what goes wrong. In a terminal keys stop, start and upgrade servers; elsewhere it ends
                                  when all are upgraded.
  --upgrade-interval <duration>   With --upgrade, the time between two servers. Default: 10s
  -h, --help                      Show this.
`;

class WrongUsage extends Error {}

const options = {
  directory: { type: 'string', default: '.demo' },
  upgrade: { type: 'boolean', default: false },
  'upgrade-interval': { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** `parseArgs` speaks of positional arguments, of which the demo has none. */
function parseFlags() {
  try {
    return parseArgs({ options }).values;
  } catch (cause) {
    const unknown = /^Unknown option '(--?)([^']*)'/.exec(cause instanceof Error ? cause.message : '');
    if (unknown === null) throw new WrongUsage(cause instanceof Error ? cause.message : String(cause));
    const [, dashes, name = ''] = unknown;
    const similar = similarName(name, Object.keys(options));
    throw new WrongUsage(
      `unknown flag ${dashes}${name}${similar === undefined ? '' : `: did you mean --${similar}?`}`,
    );
  }
}

if (process.argv[2] === 'edge') {
  process.argv.splice(2, 1);
  await import('./edge/main.ts');
} else {
  await runDemo();
}

async function runDemo(): Promise<void> {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => stop.abort());

  try {
    const values = parseFlags();
    const { directory, upgrade, 'upgrade-interval': upgradeInterval } = values;
    if (values.help) {
      process.stdout.write(usage);
    } else {
      const interval = parseDuration(upgradeInterval ?? '10s') ?? 0;
      if (interval === 0)
        throw new WrongUsage(`--upgrade-interval must be a duration such as 10s, not "${upgradeInterval}"`);
      if (!upgrade && upgradeInterval !== undefined)
        throw new WrongUsage('--upgrade-interval needs --upgrade');
      // Once the flags are known to be right: it takes as long to load as all else here.
      const { runDemoCommand } = await import('./index.ts');
      await runDemoCommand({
        directory,
        upgradeInterval: upgrade ? interval : undefined,
        signal: stop.signal,
        write: async (text) => void process.stdout.write(text),
      });
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const isWrongUsage = error instanceof WrongUsage;
    const hint = isWrongUsage ? 'Run it with --help for its flags: npm start -- --help\n' : '';
    process.stderr.write(`error: the demo cannot run: ${reason}\n${hint}`);
    process.exitCode = isWrongUsage ? 2 : 1;
  }
}
