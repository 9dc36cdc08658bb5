#!/usr/bin/env node
/** The demo without the product's command line: `npx mixed-version-proxy-demo`. */
import { parseArgs } from 'node:util';
import { runDemoCommand } from './index.ts';

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => stop.abort());

try {
  const { values } = parseArgs({ options: { directory: { type: 'string', default: '.demo' } } });
  await runDemoCommand({
    directory: values.directory,
    signal: stop.signal,
    write: async (text) => void process.stdout.write(text),
  });
} catch (error) {
  process.stderr.write(
    `mixed-version-proxy-demo: ${error instanceof Error ? error.message : String(error)}\n`,
  );
  process.exitCode = 1;
}
