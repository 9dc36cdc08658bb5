import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { ConfigurationSource } from '../../node/credentials/credentials.ts';
import { readHostNetwork } from '../../node/serving/default-interface.ts';
import type { FoundSetting } from '../../own-paths/status/status-sources.ts';
import { fileErrorMessage } from '../../runtime/errors.ts';
import { routerConfiguration } from '../config/configuration-kind.ts';
import { readGivenConfiguration } from '../config/configured-options.ts';
import { parseBoolean } from '../flags/flag-types.ts';
import type { FlagIssue, ReadTextFile } from '../flags/flag-values.ts';
import type { RawServeOptions } from '../flags/serve-flags.ts';
import { type GivenArguments, helpHint } from '../terminal/command.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { createConfigurationSource } from './configuration-file-source.ts';
import { settingsInUse } from './dry-run-report.ts';
import {
  canFindServerId,
  findOwnServerId,
  serverIdToBeFound,
  type WaitForServerId,
} from './find-own-server-id.ts';
import { findSettings, optionsOf } from './found-settings.ts';
import { movedServer } from './own-port.ts';
import { type ServeOptionsResult, validateServeOptions } from './validate-serve-options.ts';

/** What `serve` was called with. */
export interface ServeArguments extends Pick<GivenArguments, 'issues'> {
  readonly flags: RawServeOptions & GivenArguments['flags'];
}

interface ServeInput {
  readonly config: ServeConfig;
  readonly isDryRun: boolean;
  /** The settings that differ from their defaults, each with its source. */
  readonly settings: readonly FoundSetting[];
  /** How many were printed. */
  readonly warnings: number;
  /** Reads all of it again while the router runs. */
  readonly configurationSource: ConfigurationSource;
  /** Why the ID of the local server is not known, where that is no error; `config` has `serverIdToBeFound` then. */
  readonly unknownServerId: string | undefined;
}

interface ServeInputOptions {
  /** While the cluster does not tell the ID of the local server yet. Default: that is an error. */
  readonly wait?: WaitForServerId;
  /** Whether that is no error: all else can be looked at without it. */
  readonly maySkipServerId?: boolean;
}

/** One line in place of one for each required setting. */
const nothingGiven =
  'give --kubeconfig on a control-plane node of kubeadm, where the other settings are found, or --config with a configuration file elsewhere';

/**
 * Checks all that `serve` was called with: flags, configuration file, and the files that they name. Warnings are
 * printed.
 * @throws {CommandFailure} exit code 2, one line for every error.
 */
export async function readServeInput(
  given: ServeArguments,
  context: CommandContext,
  { wait, maySkipServerId = false }: ServeInputOptions = {},
): Promise<ServeInput> {
  const { config: files, 'dry-run': dryRun, ...flags } = given.flags;
  if (given.issues.length + Object.keys(given.flags).length === 0) {
    throw new CommandFailure(2, [nothingGiven], { hint: helpHint });
  }
  const read = readGivenConfiguration(context, files?.at(-1), routerConfiguration, flags);
  const { configured, options } = read;
  const issues = [...given.issues];
  const isDryRun = parseBoolean(dryRun?.at(-1) ?? 'false');
  if (isDryRun === undefined) issues.push(`--dry-run must be true or false, not "${dryRun?.at(-1)}"`);
  issues.push(...read.issues);
  const onMachine = findSettings(options, context.readFile);
  const isKnown = given.issues.length === 0;
  const wrongCall = (lines: readonly string[]) =>
    new CommandFailure(2, lines, isKnown ? {} : { hint: helpHint });
  if (onMachine.issues.length > 0) {
    throw wrongCall([...issues, ...(isKnown ? read.located(onMachine.issues) : [])]);
  }
  let found = onMachine.settings;
  const validate = (raw: RawServeOptions, readFile: ReadTextFile) =>
    validateServeOptions(raw, { readFile, network: readHostNetwork(), now: context.clock(), found });
  let unknownServerId: string | undefined;
  /** All is in order, but that the ID of the local server may not be known. */
  let checked: ServeConfig | undefined;
  const result = await checkedOptions();
  const warnings = read.certain([...onMachine.warnings, ...result.warnings], isKnown);
  const printed = [...read.located(warnings), ...(isDryRun === true ? await portWarnings(checked) : [])];
  for (const warning of printed) context.writeError(`warning: ${warning}\n`);
  if (!result.ok) {
    const certain = read.certain(result.issues, isKnown);
    const isGiven = ({ flag }: FlagIssue) => Object.hasOwn(options, flag.replace(/^--/, ''));
    issues.push(...read.located(certain));
    if (onMachine.note !== undefined && !certain.every(isGiven)) issues.push(onMachine.note);
  } else issues.push(...(await unwritableFiles(result.config)));
  if (!result.ok || isDryRun === undefined || issues.length > 0) throw wrongCall(issues);
  const configurationSource = createConfigurationSource({
    started: configured,
    flags,
    found: optionsOf(found),
    manifest: onMachine.manifest && checkedManifest(onMachine.manifest, result.config),
    validate: (raw, known) => validate(raw, (path) => known.get(path) ?? context.readFile(path)),
  });
  const settings = settingsInUse(flags, configured, found);
  return {
    config: result.config,
    isDryRun,
    settings,
    warnings: printed.length,
    configurationSource,
    unknownServerId,
  };

  /** The server's ID last: everything else has to be in order for the cluster to tell it. */
  async function checkedOptions(): Promise<ServeOptionsResult> {
    const check = () => validate({ ...optionsOf(found), ...options }, context.readFile);
    if (!canFindServerId(options)) return remember(await check());
    found = [...onMachine.settings, { flag: '--server-id', value: serverIdToBeFound, source: '' }];
    const first = remember(await check());
    found = onMachine.settings;
    if (!first.ok || issues.length > 0) return first;
    const own = await findOwnServerId(first.config, isDryRun === true ? undefined : wait);
    if (!('id' in own)) {
      if (!maySkipServerId) return { ok: false, issues: [own], warnings: first.warnings };
      unknownServerId = own.message;
      return first;
    }
    found = [...found, { flag: '--server-id', value: own.id, source: own.source }];
    return check();
  }

  function remember(result: ServeOptionsResult): ServeOptionsResult {
    if (result.ok) checked = result.config;
    return result;
  }

  /** A dry run is also made beside the router that runs, which is then what listens there. */
  async function portWarnings(config: ServeConfig | undefined): Promise<readonly string[]> {
    const busy = config && (await context.portInUse(config));
    if (busy === undefined) return [];
    return [`${busy.message}${busy.isInUse ? ' (nothing to do if it is this router that runs there)' : ''}`];
  }
}

/** A manifest that has to go on saying what the router was started by. */
function checkedManifest(
  { path, text }: NonNullable<ReturnType<typeof findSettings>['manifest']>,
  { local, ...listening }: ServeConfig,
): ConfigurationSource['manifest'] {
  if (local === undefined) return undefined;
  return {
    path,
    text,
    check(now) {
      const reason = movedServer(now, local.origin, listening);
      if (reason !== undefined) throw new Error(reason);
    },
  };
}

/** Checks that the snapshot file can be written: the next start would miss it, too late to learn of it. */
async function unwritableFiles({ snapshot }: ServeConfig): Promise<readonly string[]> {
  if (snapshot.file === undefined) return [];
  const folder = dirname(snapshot.file);
  const isDirectory = await stat(snapshot.file).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isDirectory) return [`--snapshot-file: ${snapshot.file} is a directory: name a file in it`];
  try {
    // Replaced by renaming, so it is the folder that has to be writable.
    await access(folder, constants.W_OK | constants.X_OK);
    return [];
  } catch (error) {
    return [
      `--snapshot-file: snapshots cannot be kept in ${folder}: ${fileErrorMessage(error)}; it must be a directory that the router may write to`,
    ];
  }
}
