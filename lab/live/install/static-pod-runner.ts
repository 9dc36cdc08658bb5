import { mkdir, stat } from 'node:fs/promises';
import { request } from 'node:https';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LoggedProcess, startLoggedProcess } from '../cluster/logged-process.ts';
import type { Probe, StaticPod } from './static-pod.ts';

/** As the kubelet's (pkg/kubelet, backOffPeriod and MaxContainerBackOff). Milliseconds. */
const firstBackOff = 10_000;
const longestBackOff = 300_000;

export interface RunnerOptions {
  /** The program of an image; `undefined`: none, and the container is said to run. */
  readonly commandOf: (pod: StaticPod) => readonly string[] | undefined;
  /** Where the container's output goes. */
  readonly logs: string;
  readonly say: (line: string) => void;
}

/** A static pod whose one container is a process. */
export interface RunningPod {
  readonly pod: StaticPod;
  /** As a kubelet ends it: SIGTERM, its grace, SIGKILL. */
  stop(): Promise<void>;
}

/** Starts it, and again whenever it ends or its probe has failed too often. */
export function runStaticPod(pod: StaticPod, { commandOf, logs, say }: RunnerOptions): RunningPod {
  const end = new AbortController();
  let process: LoggedProcess | undefined;

  async function start(command: string, args: readonly string[]): Promise<void> {
    for (const { path, type } of pod.volumes) {
      if (type === 'DirectoryOrCreate') await mkdir(path, { recursive: true });
      else if (type !== '') await stat(path);
    }
    if (end.signal.aborted) return;
    process = await startLoggedProcess({
      name: pod.name,
      command,
      args,
      logFile: join(logs, `${pod.name}.log`),
    });
    say(`started ${pod.name} (${pod.image})`);
    const { ended } = process;
    const isGone = new AbortController();
    void ended.then(() => isGone.abort());
    void probe(pod, isGone.signal).then(async (failed) => {
      if (!failed || !process?.isRunning()) return;
      say(`killed ${pod.name}: its probe failed`);
      await process.stop(pod.grace);
    });
    const code = await ended;
    if (!end.signal.aborted) say(`ended ${pod.name} with ${code}`);
  }

  const running = (async () => {
    const [command, ...args] = commandOf(pod) ?? [];
    if (command === undefined) return;
    for (let backOff = firstBackOff; !end.signal.aborted; backOff = Math.min(backOff * 2, longestBackOff)) {
      await start(command, args).catch((error: unknown) => say(`not started: ${pod.name}: ${error}`));
      await sleep(backOff, undefined, { signal: end.signal }).catch(() => {});
    }
  })();
  return {
    pod,
    async stop() {
      end.abort();
      await process?.stop(pod.grace);
      await running;
    },
  };
}

/** @returns whether a probe has failed as often as it may; false when the process has ended first */
async function probe({ startupProbe, livenessProbe }: StaticPod, isGone: AbortSignal): Promise<boolean> {
  if (startupProbe !== undefined && !(await untilProbe(startupProbe, isGone, 'succeeds'))) {
    return !isGone.aborted;
  }
  return livenessProbe !== undefined && (await untilProbe(livenessProbe, isGone, 'fails'));
}

/** @returns whether it came to that: a success, or failures in a row up to the threshold */
async function untilProbe(
  { url, initialDelay, period, timeout, failureThreshold }: Probe,
  isGone: AbortSignal,
  what: 'succeeds' | 'fails',
): Promise<boolean> {
  const pause = (milliseconds: number) => sleep(milliseconds, undefined, { signal: isGone }).catch(() => {});
  await pause(initialDelay);
  for (let failures = 0; !isGone.aborted; ) {
    const isRight = await asks(url, timeout);
    if (isRight && what === 'succeeds') return true;
    failures = isRight ? 0 : failures + 1;
    if (failures >= failureThreshold) return what === 'fails' && !isGone.aborted;
    await pause(period);
  }
  return false;
}

/** Without a certificate, and whatever the server's is (pkg/probe/http). */
function asks(url: string, timeout: number): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request(
      url,
      { agent: false, rejectUnauthorized: false, signal: AbortSignal.timeout(timeout) },
      (response) => {
        response.resume();
        resolve((response.statusCode ?? 0) >= 200 && (response.statusCode ?? 0) < 400);
      },
    );
    asked.once('error', () => resolve(false)).end();
  });
}
