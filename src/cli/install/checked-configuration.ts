import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { ReadTextFile } from '../flags/flag-values.ts';
import type { RawServeOptions } from '../flags/serve-flags.ts';
import { readServeInput } from '../serve/serve-input.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { InstallationRefused } from './wait-until.ts';

/** A router that is about to be installed. */
interface PlannedRouter {
  readonly configuration: string;
  /** Reads files as they will be. */
  readonly readFile: ReadTextFile;
  /** In the place of what the configuration has. Default: nothing. */
  readonly flags?: RawServeOptions;
  /** Whether the cluster need not tell the ID of the local server yet. Default: no. */
  readonly maySkipServerId?: boolean;
}

/** Checks a router as `serve --dry-run` does. Warnings are printed. @throws {InstallationRefused} with every error */
export async function checkedConfiguration(
  { configuration, readFile, flags = {}, maySkipServerId = false }: PlannedRouter,
  context: CommandContext,
): Promise<ServeConfig> {
  const given = {
    // The directory is made with the router: until then any folder that can be written to will do.
    flags: { 'snapshot-file': [join(tmpdir(), 'snapshot')], ...flags },
    configurationFiles: [configuration],
    dryRun: ['true'],
    unknown: [],
  };
  try {
    return (await readServeInput(given, { ...context, readFile }, { maySkipServerId })).config;
  } catch (cause) {
    if (!(cause instanceof CommandFailure)) throw cause;
    throw new InstallationRefused(
      ['the router could not start with this configuration:', ...cause.lines].join('\n'),
      { cause },
    );
  }
}
