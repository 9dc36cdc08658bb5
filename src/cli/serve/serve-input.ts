import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { ConfigurationSource } from '../../node/reload/configuration-source.ts';
import { readHostNetwork } from '../../node/serving/default-interface.ts';
import { routerConfiguration } from '../config/configuration-kind.ts';
import { type ConfiguredOptions, locateFault, withFlags } from '../config/configured-options.ts';
import { readConfigurationFile } from '../config/read-configuration-file.ts';
import { deprecationWarnings } from '../flags/deprecated-flags.ts';
import { parseBoolean } from '../flags/flag-types.ts';
import { type RawServeOptions, type ServeFlagName, serveFlags } from '../flags/serve-flags.ts';
import { type CommandContext, CommandFailure, messageOf } from '../terminal/command-context.ts';
import type { ReadTextFile } from './certificate-files.ts';
import { createConfigurationSource } from './configuration-file-source.ts';
import { validateServeOptions } from './validate-serve-options.ts';

/** What `serve` was called with. */
export interface ServeArguments {
  readonly flags: RawServeOptions;
  /** Occurrences of `--config`; the last counts. */
  readonly configurationFiles: readonly string[];
  /** Occurrences of `--dry-run`; the last counts. */
  readonly dryRun: readonly string[];
  /** A line for each argument that nothing is known of. */
  readonly unknown: readonly string[];
}

export interface ServeInput {
  readonly config: ServeConfig;
  readonly isDryRun: boolean;
  /** Reads all of it again while the router runs. */
  readonly configurationSource: ConfigurationSource;
}

/**
 * Checks all that `serve` was called with: flags, configuration file, and the files that they name. Warnings are
 * printed.
 * @throws {CommandFailure} exit code 2, one line for every fault.
 */
export async function readServeInput(given: ServeArguments, context: CommandContext): Promise<ServeInput> {
  const faults = [...given.unknown];
  const isDryRun = parseBoolean(given.dryRun.at(-1) ?? 'false');
  if (isDryRun === undefined) faults.push(`--dry-run must be true or false, not "${given.dryRun.at(-1)}"`);
  const configured = readConfigured(given.configurationFiles.at(-1), context, faults);
  const validate = (raw: RawServeOptions, readFile: ReadTextFile) =>
    validateServeOptions(raw, { readFile, network: readHostNetwork(), now: context.clock() });
  const options = withFlags(configured, given.flags);
  const texts = new Map<string, string>();
  const result = await validate(options, (path) => {
    const text = context.readFile(path);
    texts.set(path, text);
    return text;
  });
  for (const warning of [...deprecationWarnings(serveFlags, options), ...result.warnings]) {
    context.writeError(`warning: ${locateFault(warning, configured, given.flags)}\n`);
  }
  if (!result.ok) faults.push(...result.faults.map((fault) => locateFault(fault, configured, given.flags)));
  else faults.push(...(await unwritableFiles(result.config)));
  if (!result.ok || isDryRun === undefined || faults.length > 0) throw new CommandFailure(2, faults);
  const configurationSource = createConfigurationSource({
    started: configured,
    flags: given.flags,
    texts,
    validate: (raw, known) => validate(raw, (path) => known.get(path) ?? context.readFile(path)),
  });
  return { config: result.config, isDryRun, configurationSource };
}

/** `undefined` without a file. A faulty one ends the run: what it leaves out would look like more faults. */
function readConfigured(
  file: string | undefined,
  context: CommandContext,
  faults: readonly string[],
): ConfiguredOptions<ServeFlagName> | undefined {
  if (file === undefined) return undefined;
  try {
    return readConfigurationFile(context, file, routerConfiguration);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    throw new CommandFailure(error.exitCode, [...faults, ...error.lines], { cause: error });
  }
}

/** A snapshot that cannot be kept would be missed at the next start, when it is too late to hear of it. */
async function unwritableFiles({ snapshot }: ServeConfig): Promise<readonly string[]> {
  if (snapshot.file === undefined) return [];
  const folder = dirname(snapshot.file);
  try {
    // Replaced by renaming, so it is the folder that has to be writable.
    await access(folder, constants.W_OK | constants.X_OK);
    return [];
  } catch (error) {
    return [
      `--snapshot-file: snapshots cannot be kept in ${folder}: ${messageOf(error)}; it must be a directory that the router may write to`,
    ];
  }
}
