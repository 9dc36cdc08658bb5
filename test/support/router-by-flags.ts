import { readFileSync } from 'node:fs';
import { validateServeOptions } from '../../demo/checked-flags.ts';
import type { RunningRouter, ServeConfig } from '../../src/node/configuration/serve-config.ts';
import { startRouter } from '../../src/node/process/start-router.ts';
import { type Logger, silentLogger } from '../../src/runtime/logger.ts';

/** Flags of `serve`; `undefined` leaves one out. */
export type GivenFlags = Readonly<Record<string, readonly string[] | undefined>>;
type ReadFile = (path: string) => string;

/** Result of `serve` for these flags, whatever networks this machine has. */
export function validateFlags(
  flags: GivenFlags,
  readFile: ReadFile,
): ReturnType<typeof validateServeOptions> {
  const given = Object.entries(flags).flatMap(([name, values]) =>
    values === undefined ? [] : [[name, values] as const],
  );
  return validateServeOptions(Object.fromEntries(given), { readFile });
}

interface RouterByFlags {
  /** Default: the files of this machine. */
  readonly readFile?: ReadFile;
  readonly logger?: Logger;
  /** For what no flag sets. */
  readonly configure?: (config: ServeConfig) => ServeConfig;
  readonly more?: Parameters<typeof startRouter>[2];
}

/** A router in this process, as `serve` starts it with these flags. @throws with all that is wrong with them */
export async function startRouterByFlags(
  flags: GivenFlags,
  {
    readFile = (path) => readFileSync(path, 'utf8'),
    logger = silentLogger,
    configure = (config) => config,
    more,
  }: RouterByFlags = {},
): Promise<RunningRouter> {
  const result = await validateFlags(flags, readFile);
  if (!result.ok) throw new TypeError(result.issues.map(({ message }) => message).join('\n'));
  return startRouter(configure(result.config), logger, more);
}
