import { Option } from 'commander';
import type { CliCommand, ReportExitCode } from './cli-command.ts';
import type { CommandContext } from './command-context.ts';
import { ownManifest } from './package-version.ts';
import { type StructuredForm, structuredForms, structuredText } from './structured-text.ts';

export function registerVersion(command: CliCommand, context: CommandContext, report: ReportExitCode): void {
  command
    .description('Print the version of mixed-version-proxy and of the Node.js it runs on.')
    .addOption(
      new Option('-o, --output <form>', 'Output format.')
        .choices(['text', ...structuredForms])
        .default('text'),
    )
    .action(async ({ output }: { readonly output: 'text' | StructuredForm }) => {
      const { version, gitHead } = ownManifest();
      const text = `mixed-version-proxy v${version}\nNode.js ${process.version}\n`;
      const facts = {
        version: `v${version}`,
        ...(gitHead !== undefined && { commit: gitHead }),
        nodeVersion: process.version,
        platform: `${process.platform}/${process.arch}`,
      };
      await context.writeOutput(output === 'text' ? text : await structuredText(facts, output));
      report(0);
    });
}
