import assert from 'node:assert/strict';
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { eventually } from '../eventually.ts';

/** A kubectl on this machine. */
export interface Kubectl {
  /** `1.27`, `1.33`, … */
  readonly version: string;
  readonly path: string;
  /** Set for it beside what every kubectl gets. Default: nothing. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** Reason that a test that needs kubectl gives when there is none. */
export const kubectlMissing =
  'kubectl is not on PATH: install it (any version from 1.27 on) to run the tests that use it';

/** The versions that the Google Cloud SDK puts beside its kubectl. */
export const everyKubectlVersion = ['1.27', '1.28', '1.29', '1.30', '1.31', '1.32', '1.33'] as const;

/**
 * Kubectls of `versions` that the Google Cloud SDK has put beside the kubectl on PATH, as `kubectl.1.27`; the kubectl
 * on PATH if there is none of them. Empty where there is no kubectl.
 * @param versions default: the oldest and the newest
 */
export function findKubectls(versions: readonly string[] = ['1.27', '1.33']): readonly Kubectl[] {
  const onPath = resolveOnPath('kubectl');
  if (onPath === undefined) return [];
  const beside = versions.flatMap((version) => {
    const path = join(dirname(realpathSync(onPath)), `kubectl.${version}`);
    return isExecutable(path) ? [{ version, path }] : [];
  });
  return beside.length > 0 ? beside : [{ version: versionOf(onPath), path: onPath }];
}

function resolveOnPath(name: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(':')
    .map((directory) => join(directory, name))
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function versionOf(path: string): string {
  const output = execFileSync(path, ['version', '--client', '-o', 'json'], { encoding: 'utf8' });
  const { clientVersion } = JSON.parse(output) as { clientVersion: { major: string; minor: string } };
  return `${clientVersion.major}.${clientVersion.minor}`;
}

export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs kubectl with a home of its own, so that no cache or kubeconfig of the machine plays a part. */
export function runKubectl(
  kubectl: Kubectl,
  home: string,
  args: readonly string[],
  input = '',
): Promise<KubectlResult> {
  return new Promise((resolve) => {
    const child = execFile(
      kubectl.path,
      ['--request-timeout=30s', ...args],
      { env: kubectlEnvironment(kubectl, home), timeout: 120_000 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
        resolve({ code, stdout, stderr });
      },
    );
    // kubectl may end before it has taken its input: its exit code tells of that.
    child.stdin?.on('error', () => {}).end(input);
  });
}

/** The same through one context of a kubeconfig. */
export function runInContext(
  kubectl: Kubectl,
  { home, kubeconfig }: { readonly home: string; readonly kubeconfig: string },
  context: string,
  args: readonly string[],
  input?: string,
): Promise<KubectlResult> {
  return runKubectl(kubectl, home, ['--kubeconfig', kubeconfig, '--context', context, ...args], input);
}

/** `kubectl get --watch` while it runs. */
interface KubectlWatch {
  /** Waits for an event of this type, or for this text in the output. */
  saw(what: 'ADDED' | 'MODIFIED' | 'DELETED' | RegExp): Promise<void>;
  stop(): Promise<void>;
}

/** Follows objects. @param args which, and the way to it */
export function watchWithKubectl(kubectl: Kubectl, home: string, args: readonly string[]): KubectlWatch {
  const child = spawnKubectl(kubectl, home, [
    ...['get', ...args, '--watch', '--output-watch-events', '-o', 'json'],
  ]);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const closed = once(child, 'close');
  return {
    saw: (what) =>
      eventually(() => {
        assert.equal(child.exitCode, null, `the watch ended: ${output}`);
        return (typeof what === 'string' ? new RegExp(`"type": ?"${what}"`) : what).test(output);
      }),
    async stop() {
      child.kill();
      await closed;
    },
  };
}

/** Starts kubectl and leaves it running. */
function spawnKubectl(kubectl: Kubectl, home: string, args: readonly string[]): ChildProcess {
  return spawn(kubectl.path, args, {
    env: kubectlEnvironment(kubectl, home),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** The same kubectl, which speaks HTTP/1.1 to the server (k8s.io/apimachinery pkg/util/net/http.go). */
export function overHttp1(kubectl: Kubectl): Kubectl {
  return { ...kubectl, environment: { DISABLE_HTTP2: 'true' } };
}

function kubectlEnvironment({ environment }: Kubectl, home: string): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], HOME: home, KUBECACHEDIR: join(home, 'cache'), ...environment };
}
