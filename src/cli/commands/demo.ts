import type { RunningDemo } from '../../../scripts/demo/run-demo.ts';
import type { CliCommand, ReportExitCode } from '../terminal/cli-command.ts';
import { type CommandContext, CommandFailure, messageOf } from '../terminal/command-context.ts';
import { demoGuide } from './demo-guide.ts';

export function registerDemo(program: CliCommand, context: CommandContext, report: ReportExitCode): void {
  program
    .command('demo')
    .helpGroup('Run:')
    .summary('Run a cluster in the middle of an upgrade, to try')
    .description(
      'Run a cluster in the middle of an upgrade on this machine: example API servers of three Kubernetes versions, a router in front of each, and the sync job. Writes a kubeconfig and says what to type. Ends with Ctrl-C and leaves nothing behind.',
    )
    .examples({ comment: 'Kubeconfigs and the log are in .demo while it runs.', line: 'demo' })
    .option(
      '--directory <directory>',
      'Where kubeconfigs, certificates and the log go: a new or empty directory.',
      '.demo',
    )
    .action(async ({ directory }: { readonly directory: string }) => {
      const stop = new AbortController();
      const signal = context.shutdownSignal();
      signal.then(() => stop.abort()).catch(() => undefined);
      // A terminal that is closed sends SIGHUP; nothing may be left behind then either.
      context.onReloadSignal(() => stop.abort());
      // The example servers are no part of the product: loaded by this command only.
      const { runDemo } = await import('../../../scripts/demo/run-demo.ts');
      const say = async (demo: RunningDemo) => {
        await context.writeOutput(demoGuide(demo));
        await context.writeOutput('ready\n');
      };
      try {
        await runDemo({ directory, signal: stop.signal, onReady: say });
      } catch (cause) {
        throw new CommandFailure(1, [`the demo cannot run: ${messageOf(cause)}`], { cause });
      }
      report(0);
    });
}
