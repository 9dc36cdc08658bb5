import { demoGuide } from './guide.ts';
import { runDemo } from './run-demo.ts';
import { runUpgradeDemo } from './upgrade/run-upgrade-demo.ts';
import { processTerminal } from './upgrade/upgrade-terminal.ts';

export interface DemoCommandOptions {
  /** Where kubeconfigs, certificates and the log go: a new or empty directory, removed when the demo ends. */
  readonly directory: string;
  /** Upgrades the cluster before one's eyes: milliseconds between two servers. */
  readonly upgradeInterval?: number | undefined;
  /** Ends the demo. */
  readonly signal: AbortSignal;
  /** Writes to the terminal. */
  readonly write: (text: string) => Promise<void>;
}

/**
 * Runs the demo and prints what can be typed into it.
 * Resolves when `signal` has aborted and everything has been removed.
 */
export async function runDemoCommand({
  directory,
  upgradeInterval,
  signal,
  write,
}: DemoCommandOptions): Promise<void> {
  if (upgradeInterval !== undefined) {
    await runUpgradeDemo({ directory, interval: upgradeInterval, terminal: processTerminal(), signal });
    return;
  }
  await runDemo({
    directory,
    signal,
    onReady: async (demo) => {
      await write(demoGuide(demo));
      await write('ready\n');
    },
  });
}
