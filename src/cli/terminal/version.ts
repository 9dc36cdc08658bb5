import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CliCommand, ReportExitCode } from './cli-command.ts';
import type { CommandContext } from './command-context.ts';

export function registerVersion(program: CliCommand, context: CommandContext, report: ReportExitCode): void {
  program
    .command('version')
    .helpGroup('Other commands:')
    .summary('Print the version')
    .description('Print the version of mixed-version-proxy and of the Node.js it runs on.')
    .action(async () => {
      await context.writeOutput(`mixed-version-proxy ${packageVersion()}\nNode.js ${process.version}\n`);
      report(0);
    });
}

/** The version in the package's own manifest, for example `v0.1.0`. */
export function packageVersion(): string {
  // src/cli in a checkout, dist/src/cli in a package: the first manifest above either is the package's.
  let directory = import.meta.dirname;
  while (!existsSync(join(directory, 'package.json'))) directory = dirname(directory);
  const manifest: unknown = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const hasVersion = typeof manifest === 'object' && manifest !== null && 'version' in manifest;
  return `v${hasVersion ? String(manifest.version) : '0.0.0'}`;
}
