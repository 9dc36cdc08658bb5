import type { CliCommand, ReportExitCode } from './cli-command.ts';
import type { CommandContext } from './command-context.ts';
import { readSnapshotInput } from './snapshot-input.ts';

export function registerValidate(program: CliCommand, context: CommandContext, report: ReportExitCode): void {
  program
    .command('validate')
    .helpGroup('Inspect:')
    .summary('Check a snapshot file')
    .description(
      'Check a snapshot file as a router would. Every fault is printed with its path; exit code 2 if there is one.',
    )
    .examples({
      comment: 'Check a signed snapshot, signature included.',
      line: 'validate snapshot.jws --snapshot-keys snapshot-keys.json',
    })
    .argument('<file>', 'Snapshot, as JSON or signed.')
    .option('--snapshot-keys <file>', 'Public keys (JWK Set) that a signed snapshot is checked with.')
    .action(async (file: string, options: { readonly snapshotKeys?: string }) => {
      const { table, notes } = await readSnapshotInput(context, file, options.snapshotKeys);
      for (const note of notes) context.writeError(`note: ${note}\n`);
      const { generation, createdAt } = table.snapshot.metadata;
      await context.writeOutput(
        `${file} is valid: generation ${generation} of ${createdAt} with ${table.servers.length} servers\n`,
      );
      report(0);
    });
}
