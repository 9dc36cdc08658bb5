/**
 * The router on Deno: `deno run <permissions> serve.ts edge.json` (docs/guides/edge-self-hosted.md has the
 * permissions). Errors of the configuration end it with 2, SIGINT and SIGTERM with 0 once requests in flight have
 * ended.
 *
 * Lines of JSON go to standard error: `{"event":"listen","port":6443}` first, then the log.
 */
import { createConsoleLogger, type LogLevel } from '../platform/console-logger.ts';
import { denoRuntime } from './deno-runtime.ts';
import { DenoConfigurationError, startDenoRouter } from './start-deno-router.ts';

/** Milliseconds for requests in flight; a watch has no end of its own. */
const shutdownGrace = 5_000;

const deno = denoRuntime();
const encoder = new TextEncoder();
const write = (line: string): void => {
  deno.stderr.writeSync(encoder.encode(`${line}\n`));
};
const createLogger = (level: LogLevel) =>
  createConsoleLogger(level, { debug: write, info: write, warn: write, error: write });
const [path = 'edge.json'] = deno.args;

try {
  const server = await startDenoRouter(deno, {
    path,
    createLogger,
    onListen: ({ port }) => write(JSON.stringify({ event: 'listen', port })),
  });
  const stop = (): void => {
    setTimeout(() => deno.exit(0), shutdownGrace);
    server.shutdown().then(
      () => deno.exit(0),
      () => deno.exit(1),
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) deno.addSignalListener(signal, stop);
} catch (error) {
  const logger = createLogger('error');
  if (error instanceof DenoConfigurationError) {
    for (const issue of error.issues) logger.error({ ...issue }, 'The configuration has an error');
    deno.exit(2);
  }
  logger.error({ err: error }, 'The router cannot start');
  deno.exit(1);
}
