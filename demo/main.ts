#!/usr/bin/env node
/** The demo without the product's command line: `npx mixed-version-proxy-demo`. */
import { parseArgs } from 'node:util';
import { parseDuration } from '../src/cli/flags/flag-types.ts';
import { runDemoCommand } from './index.ts';

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => stop.abort());

try {
  const { values } = parseArgs({
    options: {
      directory: { type: 'string', default: '.demo' },
      upgrade: { type: 'boolean', default: false },
      'upgrade-interval': { type: 'string', default: '10s' },
    },
  });
  const upgradeInterval = parseDuration(values['upgrade-interval']);
  if (upgradeInterval === undefined || upgradeInterval === 0) {
    throw new Error('--upgrade-interval is no duration such as 10s');
  }
  await runDemoCommand({
    directory: values.directory,
    upgradeInterval: values.upgrade ? upgradeInterval : undefined,
    signal: stop.signal,
    write: async (text) => void process.stdout.write(text),
  });
} catch (error) {
  process.stderr.write(
    `mixed-version-proxy-demo: ${error instanceof Error ? error.message : String(error)}\n`,
  );
  process.exitCode = 1;
}
