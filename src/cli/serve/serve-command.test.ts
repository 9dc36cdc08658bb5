import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { before, describe, it, mock } from 'node:test';
import { commandContext } from '../../../test/support/commands/command-context.ts';
import { completeServeOptions, serveFiles } from '../../../test/support/routers/serve-options.ts';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { parseArguments } from '../terminal/command.ts';
import { CommandFailure, portInUse } from '../terminal/command-context.ts';
import { type StartRouter, serveCommand } from './serve-command.ts';

const complete = Object.entries(completeServeOptions).map(([name, [value]]) => `--${name}=${value}`);
let files: ReadonlyMap<string, string>;

before(async () => {
  files = await serveFiles();
});

const cannotListen: StartRouter = async () => {
  throw new Error('listen EADDRINUSE: address already in use 0.0.0.0:6443');
};

/** Runs `serve` with a router that records what it is started with. */
async function start(
  args: readonly string[],
  startRouter: StartRouter = cannotListen,
  shutdownSignal?: Promise<'SIGTERM'>,
  onReloadSignal?: (listener: () => void) => void,
) {
  let config: ServeConfig | undefined;
  let failure: unknown;
  let code: number | undefined;
  const { context, written } = commandContext(files, {
    portInUse,
    ...(shutdownSignal === undefined ? {} : { shutdownSignal }),
    ...(onReloadSignal === undefined ? {} : { onReloadSignal }),
  });
  const command = serveCommand(async () => (given, logger, options) => {
    config = given;
    return startRouter(given, logger, options);
  });
  const given = parseArguments(args, 'serve', command);
  assert.ok(given !== 'help');
  try {
    code = await command.run(given, context);
  } catch (error) {
    failure = error;
  }
  if (failure !== undefined) assert.ok(failure instanceof CommandFailure, String(failure));
  return {
    config,
    code: code ?? failure?.exitCode,
    lines: failure?.lines ?? [],
    errors: written.errors,
    output: written.output,
  };
}

describe('serve', () => {
  it('starts with what its flags say, and ends with exit code 1 when the router cannot', async () => {
    const { config, code, lines } = await start([...complete, '--secure-port=7443']);
    assert.equal(config?.settings.serving.port, 7443);
    assert.equal(config?.serverId, 'cp-a');
    assert.equal(code, 1);
    assert.deepEqual(lines, [
      'the router cannot start: listen EADDRINUSE: address already in use 0.0.0.0:6443',
    ]);
  });

  it('takes values behind = and behind a space, repeated lists, and -v in all spellings', async () => {
    for (const verbosity of [['-v', '5'], ['-v5'], ['-v=5'], ['--v=5'], ['--v', '5']]) {
      const { config } = await start([...complete, ...verbosity]);
      assert.equal(config?.settings.logging.verbosity, 5, verbosity.join(' '));
    }
    const { config } = await start([
      ...complete,
      '--bind-address',
      '127.0.0.1',
      '--requestheader-allowed-names=alice,bob',
      '--requestheader-allowed-names',
      'carol',
      '--logging-format=json',
    ]);
    assert.equal(config?.settings.serving.bindAddress, '127.0.0.1');
    assert.deepEqual(config?.requestHeader?.allowedNames.slice(-3), ['alice', 'bob', 'carol']);
    assert.equal(config?.settings.logging.format, 'json');
  });

  it('takes a boolean flag alone or with a value', async () => {
    for (const [flag, expected] of [
      ['--allow-loopback-peers', true],
      ['--allow-loopback-peers=true', true],
      ['--allow-loopback-peers=false', false],
    ] as const) {
      const { config } = await start([flag, ...complete]);
      assert.equal(config?.settings.peers.allowLoopback, expected, flag);
    }
  });

  it('prints a warning and starts all the same', async () => {
    const { config, errors } = await start([
      ...complete.filter((flag) => !flag.startsWith('--snapshot-file')),
    ]);
    assert.ok(config);
    assert.match(errors, /^warning: --snapshot-file is not set/m);
  });

  it('has the router read its files again on SIGHUP, also when it comes during the start', async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<'SIGTERM'>();
    let reloads = 0;
    let hangUp = (): void => assert.fail('nobody listens for SIGHUP');
    const { code } = await start(
      complete,
      async () => {
        // A start takes time: signals come in between.
        await Promise.resolve();
        hangUp();
        return {
          origin: 'https://127.0.0.1:6443',
          reload: async () => {
            reloads++;
            if (reloads === 1) hangUp();
            else ask('SIGTERM');
          },
          shutdown: async () => {},
          close: async () => {},
        };
      },
      asked,
      (listener) => {
        hangUp = listener;
      },
    );
    assert.equal(code, 0);
    assert.equal(reloads, 2);
  });

  it('outlives a SIGHUP during a start that fails, and says why it failed', async () => {
    const { code, lines } = await start(complete, cannotListen, undefined, (listener) => listener());
    assert.equal(code, 1);
    assert.match(lines.join(), /the router cannot start/);
  });

  it('says in one line what to give where nothing was given', async () => {
    const { code, lines } = await start([]);
    assert.equal(code, 2);
    assert.equal(lines.length, 1);
    assert.match(lines.join(), /--kubeconfig .* --config /);
  });

  it('names an unknown flag alone: what seems to be missing may be what was meant', async () => {
    const { code, lines, errors } = await start(['--frobnicate']);
    assert.equal(code, 2);
    assert.deepEqual(lines, ['unknown flag --frobnicate']);
    assert.equal(errors, '');
  });

  it('names unknown flags and stray arguments beside every error of what is given', async () => {
    const { code, lines } = await start(['--frobnicate=1', '--sever-id', 'cp-a', '--secure-port=x']);
    assert.equal(code, 2);
    assert.ok(lines.includes('unknown flag --frobnicate'), lines.join('\n'));
    assert.ok(lines.includes('unknown flag --sever-id: did you mean --server-id?'));
    assert.ok(lines.some((line) => line.startsWith('--secure-port must be')));
    const { lines: stray } = await start([...complete, 'now']);
    assert.ok(stray.includes('unexpected argument "now": serve takes flags only'), stray.join('\n'));
    const { lines: file } = await start([...complete, 'router.yaml']);
    assert.match(
      file.join('\n'),
      /takes flags only; a configuration file is given as --config=router\.yaml$/m,
    );
  });

  it('checks everything and starts nothing with --dry-run', async () => {
    const whole = await start(['--dry-run', ...complete, '--secure-port=0']);
    assert.equal(whole.code, 0);
    assert.equal(whole.config, undefined);
    assert.match(whole.output, /nothing is wrong/);
    const faulty = await start([...complete, '--dry-run', '--secure-port=x']);
    assert.equal(faulty.code, 2);
    assert.equal((await start([...complete, '--dry-run=perhaps'])).code, 2);
    assert.equal((await start([...complete, '--dry-run=false'])).code, 1);
  });

  it('says in a dry run that the port is taken, and that a certificate has expired', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const dryRun = (...more: string[]) =>
      start(['--dry-run', ...complete, '--bind-address=127.0.0.1', ...more]);
    const taken = await dryRun(`--secure-port=${port}`);
    other.close();
    assert.equal(taken.code, 0);
    assert.match(taken.errors, /warning: --secure-port: 127\.0\.0\.1:\d+ is in use: stop what listens there/);
    assert.match(taken.errors, /nothing to do if it is this router that runs there/);
    // An address of documentation (RFC 5737), which this machine does not have: no router listens on it.
    const elsewhere = await start([
      '--dry-run',
      ...complete,
      '--bind-address=192.0.2.1',
      '--secure-port=6443',
    ]);
    assert.match(elsewhere.errors, /warning: --secure-port: .*192\.0\.2\.1/);
    assert.doesNotMatch(elsewhere.errors, /nothing to do/);
    assert.doesNotMatch(taken.output, /nothing is wrong/);
    const in100Years = Date.now() + 100 * 365 * 86_400_000;
    mock.timers.enable({ apis: ['Date'], now: in100Years });
    try {
      const expired = await dryRun('--secure-port=0');
      assert.match(expired.errors, /warning: --tls-cert-file: CN=router in serving\.crt expired at/);
      assert.doesNotMatch(expired.output, /nothing is wrong/);
    } finally {
      mock.timers.reset();
    }
  });

  it('shuts the router down once it is asked to end, and then ends with exit code 0', async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<'SIGTERM'>();
    const events: string[] = [];
    const { code, errors } = await start(
      [...complete, '--logging-format=json', '--secure-port=0'],
      async () => {
        // Asked during the start already: not lost.
        ask('SIGTERM');
        events.push('started');
        return {
          origin: 'https://127.0.0.1:6443',
          reload: async () => {},
          shutdown: async () => {
            events.push('shut down');
          },
          close: async () => {},
        };
      },
      asked,
    );
    assert.equal(code, 0);
    assert.deepEqual(events, ['started', 'shut down']);
    const [serving] = errors
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    assert.equal(serving.msg, 'Serving');
    assert.equal(serving.origin, 'https://127.0.0.1:6443');
  });
});
