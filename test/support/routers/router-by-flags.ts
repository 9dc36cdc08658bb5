import { readFileSync } from 'node:fs';
import { readServeInput } from '../../../src/cli/serve/serve-input.ts';
import type { RunningRouter, ServeConfig } from '../../../src/node/configuration/serve-config.ts';
import type { ConfigurationSource } from '../../../src/node/credentials/credentials.ts';
import { type StartOptions, startRouter } from '../../../src/node/process/start-router.ts';
import { type Logger, silentLogger } from '../../../src/runtime/logger.ts';
import { commandContext } from '../commands/command-context.ts';

/** Flags of `serve`; `undefined` leaves one out. */
export type GivenFlags = Readonly<Record<string, readonly string[] | undefined>>;

export interface RouterByFlags {
  /** Default: the files of this machine. */
  readonly readFile?: ((path: string) => string) | undefined;
  readonly logger?: Logger;
  /** For what no flag sets. */
  readonly configure?: ((config: ServeConfig) => ServeConfig | Promise<ServeConfig>) | undefined;
  /** Source that the files of credentials are read again by, of that of the flags. Default: they are not. */
  readonly source?: ((own: ConfigurationSource) => ConfigurationSource | undefined) | undefined;
  readonly more?: StartOptions;
}

/** A router in this process, as `serve` starts it with these flags. @throws with all that is wrong with them */
export async function startRouterByFlags(
  flags: GivenFlags,
  {
    readFile = (path) => readFileSync(path, 'utf8'),
    logger = silentLogger,
    configure = (config) => config,
    source = () => undefined,
    more,
  }: RouterByFlags = {},
): Promise<RunningRouter> {
  const given = Object.entries(flags).filter(([, values]) => values !== undefined);
  const { context } = commandContext(new Map());
  const input = await readServeInput(
    { flags: Object.fromEntries(given), issues: [] },
    { ...context, readFile },
  );
  const config = await configure(input.config);
  return startRouter(config, logger, { ...more, configurationSource: source(input.configurationSource) });
}

export const portOf = ({ origin }: RunningRouter): number => Number(new URL(origin).port);
