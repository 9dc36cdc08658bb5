#!/usr/bin/env node
/** The demo without the product's command line: `npx mixed-version-proxy-demo`. */
import { parseArgs } from 'node:util';
import { upgradeIntervalOf } from '../src/cli/commands/demo.ts';
import { CommandFailure } from '../src/cli/terminal/command-context.ts';
import { runDemoCommand } from './index.ts';

const usage = `Usage: mixed-version-proxy-demo [flags]

Runs a cluster in the middle of an upgrade on this machine, and says what to type. Ctrl-C ends it.

  --directory <directory>         Where kubeconfigs, certificates and the log go: a new or empty directory. Default: .demo
  --upgrade                       Upgrade the cluster server by server, under a load.
  --upgrade-interval <duration>   With --upgrade, the time between two servers. Default: 10s
  -h, --help                      Show this.
`;

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => stop.abort());

try {
  const { values } = parseArgs({
    options: {
      directory: { type: 'string', default: '.demo' },
      upgrade: { type: 'boolean', default: false },
      'upgrade-interval': { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const { directory, upgrade, 'upgrade-interval': upgradeInterval } = values;
  if (values.help) {
    process.stdout.write(usage);
  } else {
    await runDemoCommand({
      directory,
      upgradeInterval: upgradeIntervalOf({ upgrade, upgradeInterval }),
      signal: stop.signal,
      write: async (text) => void process.stdout.write(text),
    });
  }
} catch (error) {
  process.stderr.write(
    `mixed-version-proxy-demo: ${error instanceof Error ? error.message : String(error)}\n`,
  );
  process.exitCode = error instanceof CommandFailure ? error.exitCode : 1;
}
