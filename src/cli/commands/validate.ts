import { routerConfiguration, syncConfiguration } from '../config/configuration-kind.ts';
import { readConfigurationFile } from '../config/configured-options.ts';
import { configurationKindOf } from '../config/parse-configuration.ts';
import { readServeInput } from '../serve/serve-input.ts';
import { readSnapshotInput, readSnapshotKeysInput } from '../snapshot/snapshot-input.ts';
import { readSyncInput } from '../sync/sync-input.ts';
import type { CliCommand, ReportExitCode } from '../terminal/cli-command.ts';
import { type CommandContext, CommandFailure, readInputFile } from '../terminal/command-context.ts';
import { countOf } from '../terminal/count-of.ts';

interface ValidateOptions {
  readonly snapshotKeys?: string;
  readonly config?: string;
  readonly syntaxOnly?: true;
}

export function registerValidate(program: CliCommand, context: CommandContext, report: ReportExitCode): void {
  program
    .command('validate')
    .helpGroup('Inspect:')
    .summary('Check a snapshot or a configuration file')
    .description(
      'Check a snapshot file as a router would, or a configuration file with everything it names. Every error is printed with its path, for a configuration file with line and column, too; exit code 2 if there is one.',
    )
    .examples(
      {
        comment: 'Check a signed snapshot, signature included.',
        line: 'validate snapshot.jws --snapshot-keys snapshot-keys.json',
      },
      {
        comment: 'Check a configuration file, certificates and keys included.',
        line: 'validate --config router.yaml',
      },
      {
        comment: 'Check it where they are not, such as in CI.',
        line: 'validate --config router.yaml --syntax-only',
      },
    )
    .argument('[file]', 'Snapshot, as JSON or signed.')
    .option('--snapshot-keys <file>', 'Public keys (JWK Set) that a signed snapshot is checked with.')
    .option('--config <file>', 'A RouterConfiguration or a SyncConfiguration, checked instead of a snapshot.')
    .option(
      '--syntax-only',
      'With --config: keys, types and ranges of the configuration file alone, not the files that it names, nor whether settings go together.',
    )
    .action(async (file: string | undefined, { config, snapshotKeys, syntaxOnly }: ValidateOptions) => {
      if (config === undefined && file !== undefined && syntaxOnly === undefined)
        await validateSnapshot(context, file, snapshotKeys);
      else if (config !== undefined && file === undefined && snapshotKeys === undefined)
        await (syntaxOnly === true
          ? validateSyntax(context, config)
          : validateConfiguration(context, config));
      else
        throw new CommandFailure(2, ['name one thing to check: a snapshot file, or --config with its file']);
      report(0);
    });
}

async function validateSnapshot(
  context: CommandContext,
  file: string,
  keys: string | undefined,
): Promise<void> {
  const { table, notes } = await readSnapshotInput(context, 'file', file, keys);
  for (const note of notes) context.writeError(`note: ${note}\n`);
  const { generation, createdAt } = table.snapshot.metadata;
  await context.writeOutput(
    `${file} is valid: generation ${generation} of ${createdAt} with ${countOf(table.servers.length, 'server')}\n`,
  );
}

async function validateConfiguration(context: CommandContext, file: string): Promise<void> {
  const kind = configurationKindOf(readInputFile(context, '--config', file));
  if (kind === syncConfiguration.kind) await validateSync(context, file);
  else await readServeInput({ flags: {}, configurationFiles: [file], dryRun: [], unknown: [] }, context);
  await context.writeOutput(`${file} is valid, with everything it names\n`);
}

/** Every command reads the file this way before it reads the files that it names. */
async function validateSyntax(context: CommandContext, file: string): Promise<void> {
  const kind = configurationKindOf(readInputFile(context, '--config', file));
  const issues: string[] = [];
  if (kind === syncConfiguration.kind) readConfigurationFile(context, file, syncConfiguration, issues);
  else readConfigurationFile(context, file, routerConfiguration, issues);
  if (issues.length > 0) throw new CommandFailure(2, issues);
  await context.writeOutput(`${file} has no error in itself; what it names was not looked at\n`);
}

async function validateSync(context: CommandContext, file: string): Promise<void> {
  const { snapshotKeys } = readSyncInput({ config: [file] }, context);
  if (snapshotKeys !== undefined) await readSnapshotKeysInput(context, snapshotKeys);
}
