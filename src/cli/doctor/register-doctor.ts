import { Option } from 'commander';
import { addExaminedServeFlags, type GivenOptions } from '../serve/serve-arguments.ts';
import type { ServeArguments } from '../serve/serve-input.ts';
import type { CliCommand, ReportExitCode } from '../terminal/cli-command.ts';
import type { CommandContext } from '../terminal/command-context.ts';
import { type Line, renderLines, type Style } from '../terminal/styled-text.ts';
import { type ColorMode, colorOption, isColored } from '../terminal/terminal-color.ts';
import { examineRouter } from './examine-router.ts';
import { examineSyncJob } from './examine-sync-job.ts';
import { exitCodeOf, type Finding } from './finding.ts';

interface DoctorOptions {
  readonly output: 'text' | 'json';
  readonly color: ColorMode;
  readonly syncKubeconfig?: string;
}

export function registerDoctor(program: CliCommand, context: CommandContext, report: ReportExitCode): void {
  const command = program
    .command('doctor')
    .helpGroup('Inspect:')
    .summary('Check a router and what it needs, where it runs')
    .description(
      'Check what a router needs, on the machine that it runs on: its configuration, certificates and keys, the stored snapshot, and every API server it may send to (address, certificate, readiness, clock, whether it believes this router about who calls). The router is described as it is to serve, by --config or by other flags of serve, all of which are taken but --dry-run. With --sync-kubeconfig the rights of the sync job are looked at, too; without a flag of serve, they alone. Exit code 0 when all is well, 1 after a warning, 2 when something does not work.',
    )
    .examples(
      { comment: 'With the configuration file of the router.', line: 'doctor --config router.yaml' },
      {
        comment: 'With the rights of the sync job, too.',
        line: 'doctor --config router.yaml --sync-kubeconfig sync.kubeconfig',
      },
    );
  const readArguments = addExaminedServeFlags(command);
  command
    .option('--sync-kubeconfig <file>', 'Kubeconfig of the sync job, whose rights are looked at as well.')
    .addOption(
      new Option('-o, --output <form>', 'Form of the findings.').choices(['text', 'json']).default('text'),
    )
    .addOption(colorOption())
    .action(async (options: GivenOptions & DoctorOptions) => {
      const { output, color, syncKubeconfig } = options;
      const findings = await examine(readArguments(options), syncKubeconfig, context);
      await context.writeOutput(
        output === 'json'
          ? `${JSON.stringify(findings, null, 2)}\n`
          : renderLines(findings.flatMap(findingLines), isColored(color, context)),
      );
      report(exitCodeOf(findings));
    });
}

/** @throws {CommandFailure} exit code 2 when the configuration cannot be used: there is nothing to look at then. */
async function examine(
  given: ServeArguments,
  syncKubeconfig: string | undefined,
  context: CommandContext,
): Promise<readonly Finding[]> {
  const { flags, configurationFiles, unknown } = given;
  const describesRouter =
    configurationFiles.length > 0 || Object.keys(flags).length > 0 || unknown.length > 0;
  if (syncKubeconfig !== undefined && !describesRouter) return examineSyncJob(syncKubeconfig, []);
  const { findings, reached } = await examineRouter(given, context);
  return syncKubeconfig === undefined
    ? findings
    : [...findings, ...(await examineSyncJob(syncKubeconfig, reached))];
}

const marks = {
  ok: { text: '[ok]', style: 'good' },
  warning: { text: '[warning]', style: 'warning' },
  failed: { text: '[failed]', style: 'bad' },
} as const satisfies Record<Finding['result'], { readonly text: string; readonly style: Style }>;

const markWidth = marks.warning.text.length;

function findingLines({ check, result, message, commands = [] }: Finding): readonly Line[] {
  const mark = marks[result];
  return [
    [mark, ' '.repeat(markWidth - mark.text.length), ` ${check}: ${message}`],
    ...commands.map((command) => [`${' '.repeat(markWidth + 3)}${command}`]),
  ];
}
