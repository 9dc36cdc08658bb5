// Runs Kubernetes' own tests by each way into a cluster: `npm run lab -- e2e` (README.md).
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { readOptions } from '../../harness/command-line.ts';
import { liveAssetsGuide } from '../cluster/assets.ts';
import { startControllerManager } from '../cluster/controller-manager.ts';
import { inOwnNetwork } from '../cluster/network.ts';
import { type E2eAssets, e2eAssetsGuide, findE2eAssets } from './e2e-assets.ts';
import { listTests, runTests, type TestResult } from './ginkgo.ts';
import { startKubelets } from './kubelets.ts';
import { startWayIn, type WayIn, waysIn } from './way-in.ts';

const processGrace = 5000;

interface WayRun {
  readonly way: WayIn;
  readonly run: number;
  readonly versions: readonly string[];
  readonly seconds: number;
  readonly results: Readonly<Record<string, TestResult>>;
}

interface RunWayOptions {
  readonly run: number;
  readonly names: readonly string[];
  readonly processes: number;
  /** Milliseconds for one batch of tests. */
  readonly patience: number;
  /** Where results, logs and the output of the tests go. */
  readonly output: string;
}

/** Runs the tests in a cluster of their own that has this way in, with controllers and nodes behind the same way in. */
async function runWay(way: WayIn, assets: E2eAssets, options: RunWayOptions): Promise<WayRun> {
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

/** Logs of the servers and routers, for who looks for the cause of a failure. */
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

const namesFile = join(import.meta.dirname, 'tests.txt');

/** Areas whose tests judge an API server, and what is not asked: what is off, what hurts the cluster, what takes long. */
const areas = /^\[sig-(?:api-machinery|auth|cli|apps|instrumentation)\]/;
const leftOut = /\[Feature:OffByDefault\]|\[Feature:|\[Alpha\]|\[Disruptive\]|\[Slow\]|\[Flaky\]/;

const values = readOptions('e2e', {
  ways: { type: 'string', default: waysIn.join(','), value: 'LIST', about: 'into the cluster' },
  runs: { type: 'string', default: '3', value: 'N', about: 'how often each' },
  'first-run': { type: 'string', default: '1', value: 'N', about: 'its number' },
  processes: { type: 'string', default: '8', value: 'N', about: 'of e2e.test beside each other' },
  output: { type: 'string', default: 'e2e-results', value: 'FOLDER', about: 'of the results' },
  find: {
    type: 'boolean',
    default: false,
    about: 'tries every candidate on one server, and writes the names of those that pass to tests.txt',
  },
  focus: { type: 'string', default: '', value: 'REGEXP', about: 'only tests whose names match it' },
});

const assets = findE2eAssets();
if ('problems' in assets) {
  process.stderr.write(`${assets.problems.join('\n')}\n\n${liveAssetsGuide}\n${e2eAssetsGuide}\n`);
  process.exitCode = 2;
} else await inOwnNetwork(assets.apiServers, () => run(assets));

async function run(found: E2eAssets): Promise<void> {
  // Each process that is started listens for the end of this one.
  process.setMaxListeners(0);
  const output = values.output;
  await mkdir(output, { recursive: true });
  const names = (values.find ? await candidates(found, output) : await namesOfFile()).filter((name) =>
    new RegExp(values.focus).test(name),
  );
  const ways = values.find ? (['server'] as const) : values.ways.split(',').filter(isWayIn);
  const first = Number(values['first-run']);
  for (let turn = first; turn < first + Number(values.find ? 1 : values.runs); turn++) {
    for (const way of ways) {
      const { results, seconds } = await runWay(way, found, {
        run: turn,
        names,
        processes: Number(values.processes),
        patience: 300_000,
        output,
      });
      const passed = Object.keys(results).filter((name) => results[name]?.outcome === 'passed');
      const failed = names.filter((name) => results[name]?.outcome !== 'passed');
      console.log(`${way}, run ${turn}: ${passed.length} of ${names.length} passed, ${seconds} s`);
      if (!values.find) for (const name of failed) console.log(`  not: ${name}`);
      if (values.find) await writeFile(namesFile, `${passed.sort().join('\n')}\n`);
    }
  }
}

async function candidates(found: E2eAssets, output: string): Promise<readonly string[]> {
  const all = await listTests({ e2eTest: found.e2eTest, directory: output });
  return all.filter((name) => areas.test(name) && !leftOut.test(name));
}

async function namesOfFile(): Promise<readonly string[]> {
  return (await readFile(namesFile, 'utf8')).split('\n').filter((line) => line !== '');
}

function isWayIn(way: string): way is WayIn {
  return (waysIn as readonly string[]).includes(way);
}
