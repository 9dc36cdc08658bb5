import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { commandContext } from '../../../test/support/command-context.ts';
import { CliCommand } from '../terminal/cli-command.ts';
import { CommandFailure } from '../terminal/command-context.ts';
import { registerDemo } from './demo.ts';

/** Runs the command with a package that is loaded so; the exit code that it reported. */
async function runDemo(
  load: (name: string) => Promise<unknown>,
  shutdownSignal?: Promise<'SIGTERM'>,
  flags: readonly string[] = [],
) {
  const { context, written } = commandContext(new Map(), shutdownSignal && { shutdownSignal });
  let code: number | undefined;
  const program = new CliCommand('mixed-version-proxy').exitOverride();
  registerDemo(program, context, (reported) => (code = reported), load);
  await program.parseAsync(['demo', '--directory', 'here', ...flags], { from: 'user' });
  return { code, ...written };
}

describe('demo', () => {
  it('runs the package of the demo until the process is asked to end', async () => {
    const stop = Promise.withResolvers<'SIGTERM'>();
    const demo = {
      async runDemoCommand(options: {
        readonly directory: string;
        readonly signal: AbortSignal;
        readonly write: (text: string) => Promise<void>;
      }) {
        await options.write(`ready in ${options.directory}\n`);
        const aborted = new Promise((resolve) => options.signal.addEventListener('abort', resolve));
        stop.resolve('SIGTERM');
        await aborted;
      },
    };
    const { code, output } = await runDemo(async () => demo, stop.promise);
    assert.deepEqual({ code, output }, { code: 0, output: 'ready in here\n' });
  });

  it('upgrades the cluster with --upgrade, a server each --upgrade-interval', async () => {
    const intervals: unknown[] = [];
    const load = async () => ({
      runDemoCommand: async ({ upgradeInterval }: { readonly upgradeInterval?: number }) => {
        intervals.push(upgradeInterval);
      },
    });
    await runDemo(load);
    await runDemo(load, undefined, ['--upgrade']);
    await runDemo(load, undefined, ['--upgrade', '--upgrade-interval', '1m30s']);
    assert.deepEqual(intervals, [undefined, 10_000, 90_000]);
    const refusals = [
      [
        ['--upgrade', '--upgrade-interval', '10'],
        '--upgrade-interval must be a duration such as 10s, not "10"',
      ],
      [['--upgrade', '--upgrade-interval', '0s'], '--upgrade-interval must be longer than 0s'],
      [['--upgrade-interval', '5s'], '--upgrade-interval needs --upgrade'],
    ] as const;
    for (const [flags, message] of refusals) {
      await assert.rejects(runDemo(load, undefined, flags), (error) => {
        assert.ok(error instanceof CommandFailure);
        assert.equal(error.message, message);
        assert.equal(error.exitCode, 2);
        return true;
      });
    }
  });

  it('says how to get the package where it is not installed', async () => {
    await assert.rejects(runDemo(withoutPackage('mixed-version-proxy-demo')), (error) => {
      assert.ok(error instanceof CommandFailure);
      assert.match(
        error.message,
        /mixed-version-proxy-demo, which is not installed\. In a checkout run npm ci/,
      );
      return true;
    });
  });

  it('does not take a package that lacks another one for a missing package', async () => {
    await assert.rejects(runDemo(withoutPackage('yaml')), /Cannot find package 'yaml'/);
  });
});

/** Fails as Node's loader does. */
const withoutPackage = (name: string) => async () => {
  throw Object.assign(new Error(`Cannot find package '${name}' imported from /app/demo.js`), {
    code: 'ERR_MODULE_NOT_FOUND',
  });
};
