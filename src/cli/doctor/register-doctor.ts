import { Option } from 'commander';
import type { CliCommand, ReportExitCode } from '../cli-command.ts';
import type { CommandContext } from '../command-context.ts';
import { readServeInput } from '../serve-input.ts';
import { certificateFindings } from './certificate-findings.ts';
import { exitCodeOf, type Finding } from './finding.ts';
import { permissionFindings } from './permission-findings.ts';
import { serverFindings } from './server-findings.ts';
import { snapshotFindings } from './snapshot-findings.ts';

interface DoctorOptions {
  readonly config: string;
  readonly output: 'text' | 'json';
}

export function registerDoctor(program: CliCommand, context: CommandContext, report: ReportExitCode): void {
  program
    .command('doctor')
    .helpGroup('Inspect:')
    .summary('Check a router and what it needs, where it runs')
    .description(
      'Check what a router needs, on the machine that it runs on: its configuration, certificates and keys, the stored snapshot, and every API server it may send to (address, certificate, readiness, clock). Exit code 0 when all is well, 1 after a warning, 2 when something does not work.',
    )
    .examples({ comment: 'With the configuration file of the router.', line: 'doctor --config router.yaml' })
    .requiredOption('--config <file>', 'The RouterConfiguration of the router.')
    .addOption(
      new Option('-o, --output <form>', 'Form of the findings.').choices(['text', 'json']).default('text'),
    )
    .action(async ({ config: file, output }: DoctorOptions) => {
      const findings = await examine(file, context);
      await context.writeOutput(
        output === 'json' ? `${JSON.stringify(findings, null, 2)}\n` : findingsText(findings),
      );
      report(exitCodeOf(findings));
    });
}

/** @throws {CommandFailure} exit code 2 when the configuration cannot be used: there is nothing to look at then. */
async function examine(file: string, context: CommandContext): Promise<readonly Finding[]> {
  const given = { flags: {}, configurationFiles: [file], dryRun: [], unknown: [] };
  const { config } = await readServeInput(given, context);
  const { findings: ofSnapshot, table } = await snapshotFindings(config, context);
  return [
    { check: 'configuration', result: 'ok', message: `${file} can be used` },
    ...certificateFindings(config, context.clock()),
    ...(await permissionFindings(config)),
    ...ofSnapshot,
    ...(await serverFindings(config, table, context.clock)),
  ];
}

const marks = { ok: '[ok]     ', warning: '[warning]', failed: '[failed] ' } as const;

function findingsText(findings: readonly Finding[]): string {
  return findings.map(({ check, result, message }) => `${marks[result]} ${check}: ${message}\n`).join('');
}
