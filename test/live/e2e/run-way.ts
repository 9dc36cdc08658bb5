import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { startControllerManager } from '../controller-manager.ts';
import type { E2eAssets } from './e2e-assets.ts';
import { runTests, type TestResult } from './ginkgo.ts';
import { startKubelets } from './kubelets.ts';
import { startWayIn, type WayIn } from './way-in.ts';

const processGrace = 5000;

export interface WayRun {
  readonly way: WayIn;
  readonly run: number;
  readonly versions: readonly string[];
  readonly seconds: number;
  readonly results: Readonly<Record<string, TestResult>>;
}

export interface RunWayOptions {
  readonly run: number;
  readonly names: readonly string[];
  readonly processes: number;
  /** Milliseconds for one batch of tests. */
  readonly patience: number;
  /** Where results, logs and the output of the tests go. */
  readonly output: string;
}

/** Runs the tests in a cluster of their own that has this way in, with controllers and nodes behind the same way in. */
export async function runWay(way: WayIn, assets: E2eAssets, options: RunWayOptions): Promise<WayRun> {
  const { run, names, processes, patience, output } = options;
  const directory = join(output, `${way}-${run}`);
  await mkdir(directory, { recursive: true });
  const { controlPlane, kubeconfig, controllerKubeconfig } = await startWayIn(way, assets);
  try {
    if (assets.controllerManager !== undefined) {
      const controllers = await startControllerManager(controlPlane, {
        binary: assets.controllerManager,
        kubeconfig: controllerKubeconfig,
      });
      controlPlane.endWith(() => controllers.stop(processGrace));
    }
    const config = new KubeConfig();
    config.loadFromFile(kubeconfig);
    const kubelets = await startKubelets(config);
    controlPlane.endWith(() => kubelets.stop());
    const begun = Date.now();
    const results = await runTests(names, {
      e2eTest: assets.e2eTest,
      kubectl: assets.kubectl,
      kubeconfig,
      directory,
      processes,
      patience,
    });
    const result: WayRun = {
      way,
      run,
      versions: controlPlane.servers.map((server) => server.binary().version),
      seconds: Math.round((Date.now() - begun) / 1000),
      results: Object.fromEntries(results),
    };
    await writeFile(join(output, `${way}-${run}.json`), `${JSON.stringify(result, undefined, 1)}\n`);
    return result;
  } finally {
    await keepLogs(controlPlane.path, directory);
    await controlPlane.close();
  }
}

/** What the servers and routers wrote, for who looks for the cause of a failure. */
async function keepLogs(path: (name: string) => string, directory: string): Promise<void> {
  const servers = ['a', 'b', 'c'];
  const names = [
    ...servers.map((name) => `kube-apiserver-${name}`),
    ...servers.map((name) => `router-${name}`),
    'gateway',
    'sync',
    'kube-controller-manager',
  ];
  for (const name of names) {
    const text = await readFile(path(`${name}.log`), 'utf8').catch(() => undefined);
    if (text !== undefined) await writeFile(join(directory, `${name}.log`), text);
  }
}
