import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Option } from 'commander';
import * as v from 'valibot';
import type { CliCommand, ReportExitCode } from './cli-command.ts';
import type { CommandContext } from './command-context.ts';
import { type StructuredForm, structuredForms, structuredText } from './structured-text.ts';

export function registerVersion(program: CliCommand, context: CommandContext, report: ReportExitCode): void {
  program
    .command('version')
    .helpGroup('Other commands:')
    .summary('Print the version')
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
      await context.writeOutput(output === 'text' ? text : structuredText(facts, output));
      report(0);
    });
}

/** The version in the package's own manifest, for example `v0.1.0`. */
export function packageVersion(): string {
  return `v${ownManifest().version}`;
}

/** Only a package that was released says which commit it was made of. */
const manifestSchema = v.object({
  version: v.optional(v.string(), '0.0.0'),
  gitHead: v.optional(v.string()),
});

function ownManifest(): v.InferOutput<typeof manifestSchema> {
  // src/cli in a checkout, dist/src/cli in a package: the first manifest above either is the package's.
  let directory = import.meta.dirname;
  while (!existsSync(join(directory, 'package.json'))) directory = dirname(directory);
  return v.parse(manifestSchema, JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')));
}
