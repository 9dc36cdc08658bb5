import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { after, before, describe, it } from 'node:test';

const root = resolve(import.meta.dirname, '..');
const launcher = join(root, 'bin', 'mixed-version-proxy');

/** A Node on PATH that is too old for the package; where there is none, the launcher runs under this one. */
function olderNode(): string | undefined {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    const candidate = join(directory, 'node');
    if (directory.includes('node_modules') || !existsSync(candidate)) continue;
    const version = execFileSync(candidate, ['--version'], { encoding: 'utf8' });
    if (Number.parseInt(version.slice(1), 10) < 26) return candidate;
  }
  return undefined;
}

const older = olderNode();
const node = older ?? process.execPath;

interface Outcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  readonly errors: string;
}

function start(
  script: string,
  args: readonly string[],
): { process: ChildProcess; outcome: Promise<Outcome> } {
  // A kubeconfig that is found would have a router asked.
  const env = { ...process.env, KUBECONFIG: '', HOME: import.meta.dirname };
  const child = spawn(node, [script, ...args], { stdio: 'pipe', env });
  let output = '';
  let errors = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  const outcome = once(child, 'close').then(([code, signal]) => ({ code, signal, output, errors }));
  return { process: child, outcome };
}

function run(script: string, args: readonly string[], input = ''): Promise<Outcome> {
  const { process: child, outcome } = start(script, args);
  child.stdin?.end(input);
  return outcome;
}

/** The processes that `pid` has started, as Linux lists them. */
async function childrenOf(pid: number): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(/\s+/).filter(Boolean).map(Number);
}

describe('the launcher', () => {
  it('runs the command line on Node 26, whichever Node started it', async () => {
    const { code, output } = await run(launcher, ['version']);
    assert.equal(code, 0);
    assert.match(output, /^mixed-version-proxy v\S+\nNode\.js v(2[6-9]|[3-9]\d)\./);
  });

  it('hands arguments, input, output and exit code through', async () => {
    const refused = await run(launcher, ['explain', 'GET', '/api/v1/../pods', '-o', 'json']);
    assert.equal(refused.code, 0);
    assert.equal(JSON.parse(refused.output).reason, 'AmbiguousRequestTarget');
    const lines = await run(
      launcher,
      ['explain', '--stdin'],
      '{"method":"GET","url":"/healthz"}\nnonsense\n',
    );
    assert.equal(lines.code, 1);
    assert.equal(lines.output.trimEnd().split('\n').length, 2);
    const unknown = await run(launcher, ['explian']);
    assert.equal(unknown.code, 2);
    assert.match(unknown.errors, /did you mean explain\?/);
  });

  it('ends quietly when its reader has seen enough', async () => {
    const { process: child, outcome } = start(launcher, ['explain', '--stdin']);
    child.stdin?.on('error', () => {});
    child.stdin?.write('{"method":"GET","url":"/healthz"}\n'.repeat(2000));
    assert.ok(child.stdout);
    await once(child.stdout, 'data');
    child.stdout.destroy();
    child.stdin?.end('{"method":"GET","url":"/healthz"}\n'.repeat(20_000));
    const { code, errors } = await outcome;
    assert.equal(code, 0);
    assert.match(errors, /^note: answered from nothing.*\n$/, 'nothing but the note that it always gives');
  });

  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    it(`passes ${signal} on, ends by it, and leaves no process behind`, async () => {
      const { process: child, outcome } = start(launcher, ['explain', '--stdin']);
      assert.ok(child.stdin && child.stdout && child.pid !== undefined);
      // Once it has answered, the command line runs.
      child.stdin.write('{"method":"GET","url":"/healthz"}\n');
      await once(child.stdout, 'data');
      const started = await childrenOf(child.pid);
      assert.equal(started.length, older === undefined ? 0 : 1);
      child.kill(signal);
      assert.equal((await outcome).signal, signal);
      for (const pid of started) assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
    });
  }
});

describe('the launcher of an installed package', () => {
  let directory: string;
  let installed: string;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'launcher-'));
    const packageDirectory = join(directory, 'node_modules', 'mixed-version-proxy');
    await cp(join(root, 'bin'), join(packageDirectory, 'bin'), { recursive: true });
    await writeFile(join(packageDirectory, 'package.json'), '{"type":"module"}');
    installed = join(packageDirectory, 'bin', 'mixed-version-proxy');
  });
  after(() => rm(directory, { recursive: true, force: true }));

  it('says what to do when there is no Node that it can run on', async () => {
    const { code, errors } = await run(installed, ['version']);
    assert.equal(code, 1);
    assert.match(errors, /^mixed-version-proxy: /);
    if (older !== undefined) assert.match(errors, /Node\.js 26 or newer is needed, this is v\d+/);
  });

  it('runs what was built, ends with its exit code, and says why it failed', async () => {
    const platform = `node-linux-${process.arch}`;
    await symlink(join(root, 'node_modules', platform), join(directory, 'node_modules', platform));
    const built = join(directory, 'node_modules', 'mixed-version-proxy', 'dist', 'command');
    await mkdir(built, { recursive: true });
    for (const [file, ...words] of [
      ['main.js', 'doctor', '--server-id=a b'],
      ['serve.cjs', 'serve', '--server-id=a b'],
      ['status.cjs', 'status', '-o', 'json'],
      ['explain.cjs', 'explain', '--server-id=a b'],
    ] as const) {
      await writeFile(
        join(built, file),
        `console.log(JSON.stringify(['${file}', ...process.argv.slice(2)])); process.exitCode = 7;`,
      );
      const { code, output } = await run(installed, words);
      assert.equal(code, 7);
      assert.deepEqual(JSON.parse(output), [file, ...words]);
      const done = `Promise.reject('broken')`;
      await writeFile(
        join(built, file),
        file.endsWith('.cjs') ? `exports.done = ${done}` : `export const done = ${done}`,
      );
      const failed = await run(installed, words);
      assert.deepEqual([failed.code, failed.errors], [1, 'mixed-version-proxy: broken\n']);
    }
  });
});
