import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import {
  type RouterFlag,
  routerConfiguration,
  routerSettings,
  serveCall,
} from '../../node/configuration/router-settings.ts';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { ConfigurationSource } from '../../node/credentials/credentials.ts';
import { readHostNetwork } from '../../node/serving/default-interface.ts';
import type { FoundSetting } from '../../own-paths/status/status-sources.ts';
import { fileErrorMessage } from '../../runtime/errors.ts';
import { maskText } from '../../runtime/mask-secrets.ts';
import { type Given, readGiven } from '../settings/configuration-file.ts';
import {
  describeIssue,
  type GivenValues,
  givenByFlags,
  merged,
  type RawFlags,
  type ReadTextFile,
  type SettingInUse,
  Settings,
} from '../settings/read-settings.ts';
import { type GivenArguments, helpHint } from '../terminal/command.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import { type FoundSettings, findSettings, movedServer } from './found-settings.ts';
import { routerConfig, type ServeOptionsResult } from './router-config.ts';

export interface ServeArguments extends Pick<GivenArguments, 'issues'> {
  readonly flags: RawFlags<RouterFlag | 'config' | 'dry-run'>;
}

interface ServeInput {
  readonly config: ServeConfig;
  readonly isDryRun: boolean;
  readonly settings: readonly FoundSetting[];
  readonly warnings: number;
  readonly configurationSource: ConfigurationSource;
}

const nothingGiven =
  'give --kubeconfig on a control-plane node of kubeadm, where the other settings are found, or --config with a configuration file elsewhere';

/** Warnings are printed. @throws {CommandFailure} exit code 2, one line for every error */
export async function readServeInput(
  { flags, issues: unknown }: ServeArguments,
  context: CommandContext,
): Promise<ServeInput> {
  if (unknown.length + Object.keys(flags).length === 0) {
    throw new CommandFailure(2, [nothingGiven], { hint: helpHint });
  }
  const given = readGiven(context, routerConfiguration, routerSettings, flags);
  const values = merged(given.layers);
  const call = new Settings(serveCall, [givenByFlags(serveCall, flags)], context.readFile);
  const { dryRun: isDryRun } = call.values;
  const isKnown = unknown.length === 0;
  const issues = [...unknown, ...call.issues.map(({ message }) => message), ...given.issues];
  const wrongCall = (lines: readonly string[]) =>
    new CommandFailure(2, lines, isKnown ? {} : { hint: helpHint });
  const found = findSettings(values, context.readFile);
  if (found.issues.length > 0) {
    throw wrongCall([...issues, ...(isKnown ? found.issues.map(describeIssue) : [])]);
  }
  const result = await checkRouter([...given.layers, found.values], context, context.readFile);
  const warnings = [
    ...given.certain([...found.warnings, ...result.warnings], isKnown),
    ...(isDryRun && result.ok ? await portWarnings(result.config, context) : []),
  ];
  for (const warning of warnings) context.writeError(`warning: ${warning}\n`);
  if (result.ok) issues.push(...(await unwritableFiles(result.config)));
  else {
    issues.push(...given.certain(result.issues, isKnown));
    const lacks =
      isKnown && given.issues.length === 0 && result.issues.some(({ isOfMissing }) => isOfMissing);
    if (found.note !== undefined && lacks) issues.push(found.note);
  }
  if (!result.ok || issues.length > 0) throw wrongCall(issues);
  const { config, settings } = result;
  return {
    config,
    isDryRun,
    settings: settings.inUse().flatMap(foundSetting),
    warnings: warnings.length,
    configurationSource: configurationSource(given, found, config, context),
  };
}

type CheckedRouter = ServeOptionsResult & { readonly settings: Settings<typeof routerSettings> };

async function checkRouter(
  layers: readonly GivenValues[],
  context: CommandContext,
  readFile: ReadTextFile,
): Promise<CheckedRouter> {
  const settings = new Settings(routerSettings, layers, readFile);
  const environment = { network: readHostNetwork(), now: context.clock() };
  return { ...(await routerConfig(settings, environment)), settings };
}

/** A dry run is also made beside the router that runs, which is then what listens there. */
async function portWarnings(config: ServeConfig, context: CommandContext): Promise<readonly string[]> {
  const busy = await context.portInUse(config.settings.serving);
  if (busy === undefined) return [];
  return [`${busy.message}${busy.isInUse ? ' (nothing to do if it is this router that runs there)' : ''}`];
}

function foundSetting({ flag, shown, source }: SettingInUse): readonly FoundSetting[] {
  switch (source?.kind) {
    case undefined:
      return [];
    case 'flag':
      return [{ flag, value: maskText(shown), source: 'given as a flag' }];
    case 'file':
      return [{ flag, value: maskText(shown), source: `${source.path} in ${source.file}:${source.line}` }];
    case 'found':
      return [{ flag, value: shown, source: source.text }];
  }
}

export function dryRunReport({ settings, warnings }: Pick<ServeInput, 'settings' | 'warnings'>): string {
  return [
    warnings === 0
      ? 'nothing is wrong: the router can start with this configuration'
      : `the router can start with this configuration; see the ${warnings === 1 ? 'warning' : `${warnings} warnings`}`,
    ...settings.map(({ flag, value, source }) => `${flag}=${value}\n    ${source}`),
    '',
  ].join('\n');
}

/** Reads the files of a running router again, with the checks of the start. */
function configurationSource(
  { file, layers: [flags = new Map()] }: Given,
  found: FoundSettings,
  { local, settings: { serving } }: ServeConfig,
  context: CommandContext,
): ConfigurationSource {
  return {
    manifest: found.manifest &&
      local && {
        ...found.manifest,
        check(now) {
          const reason = movedServer(now, local.origin, serving);
          if (reason !== undefined) throw new Error(reason);
        },
      },
    async read(texts) {
      const readFile = (path: string) => texts.get(path) ?? context.readFile(path);
      const result = await checkRouter([flags, file?.values ?? new Map(), found.values], context, readFile);
      if (result.ok) return result.config;
      throw new Error(result.issues.map(describeIssue).join('; '));
    },
  };
}

/** Checks that the snapshot file can be written: the next start would miss it, too late to learn of it. */
async function unwritableFiles({ settings: { snapshot } }: ServeConfig): Promise<readonly string[]> {
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
