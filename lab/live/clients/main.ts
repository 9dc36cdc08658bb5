// Runs client libraries over a rolling upgrade: `npm run lab -- clients` (lab/README.md).

import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { readOptions } from '../../harness/command-line.ts';
import { assetsOfEnvironment, type LiveAssets, liveAssetsGuide } from '../cluster/assets.ts';
import { startControllerManager } from '../cluster/controller-manager.ts';
import { endOfLog, startLoggedProcess } from '../cluster/logged-process.ts';
import { inOwnNetwork } from '../cluster/network.ts';
import { objectClient } from '../controllers/object-client.ts';
import { controllerManagerOfEnvironment } from '../e2e/e2e-assets.ts';
import { startWayIn } from '../e2e/way-in.ts';
import { describeWork, figuresOf, type WorkByKind } from './work.ts';

/** A client program of the suite: it works until SIGTERM, and then prints what it did as a line of JSON. */
interface ClientProgram {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

interface ClientPrograms {
  readonly found: readonly ClientProgram[];
  /** Reasons why clients are left out. */
  readonly missing: readonly string[];
}

const folder = import.meta.dirname;

/** Finds the runtimes that clients need. @param directory for programs that have to be built */
function findClientPrograms(directory: string): ClientPrograms {
  const found: ClientProgram[] = [
    { name: 'JavaScript', command: process.execPath, args: [join(folder, 'javascript-client.ts')] },
  ];
  const missing: string[] = [];
  const go = goClient(join(directory, 'go-client'));
  if (typeof go === 'string') missing.push(go);
  else found.push(go);
  const python = process.env['TEST_ASSET_PYTHON'] ?? 'python3';
  if (succeeds(python, ['-c', 'import kubernetes'])) {
    found.push({ name: 'Python', command: python, args: [join(folder, 'python_client.py')] });
  } else missing.push(`Python: ${python} has no package kubernetes (set TEST_ASSET_PYTHON)`);
  const helm = process.env['TEST_ASSET_HELM'] ?? 'helm';
  if (succeeds(helm, ['version'])) {
    found.push({
      name: 'Helm',
      command: process.execPath,
      args: [join(folder, 'helm-client.ts'), `--helm=${helm}`],
    });
  } else missing.push('Helm: helm is not on PATH (set TEST_ASSET_HELM)');
  const java = javaClient(join(directory, 'java-client'));
  if (typeof java === 'string') missing.push(java);
  else found.push(java);
  return { found, missing };
}

function goClient(program: string): ClientProgram | string {
  const given = process.env['TEST_ASSET_GO_CLIENT'];
  if (given !== undefined) return { name: 'Go', command: given, args: [] };
  const { status, error, stderr } = spawnSync('go', ['build', '-o', program, '.'], {
    cwd: join(folder, 'go'),
    encoding: 'utf8',
  });
  if (status === 0) return { name: 'Go', command: program, args: [] };
  return `Go: ${error?.message ?? stderr.trim().split('\n').at(-1)}`;
}

/** Maven, where it is, brings what the program needs; the program is run from its source. */
function javaClient(libraries: string): ClientProgram | string {
  const given = process.env['TEST_ASSET_JAVA_CLASSPATH'];
  if (!succeeds('java', ['-version'])) return 'Java: java is not on PATH';
  if (given === undefined) {
    const { status, error, stdout } = spawnSync(
      'mvn',
      ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${libraries}`],
      { cwd: join(folder, 'java'), encoding: 'utf8' },
    );
    if (status !== 0)
      return `Java: no io.kubernetes:client-java (${error?.message ?? stdout.trim().split('\n')[0]}; set TEST_ASSET_JAVA_CLASSPATH)`;
  }
  const classpath = given ?? join(libraries, '*');
  return { name: 'Java', command: 'java', args: ['-cp', classpath, join(folder, 'java', 'JavaClient.java')] };
}

function succeeds(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}

/**
 * The upgrades that are compared. `routers`, `gateway`: two servers of three go from the oldest to the newest version.
 * `equal`: servers of one version restart one after the other behind a load balancer, without routers. `balancer`: the
 * upgrade behind the load balancer.
 */
const upgrades = ['routers', 'gateway', 'equal', 'balancer'] as const;
type Upgrade = (typeof upgrades)[number];

const values = readOptions('clients', {
  upgrades: {
    type: 'string',
    default: upgrades.join(','),
    value: 'LIST',
    about: 'the way of the clients into the cluster',
  },
  output: { type: 'string', value: 'NAME', about: 'the figures of each upgrade go to <name>-<upgrade>.json' },
});
const clientGrace = 60_000;
const processGrace = 5000;
/** Time that clients are at work before, between and after restarts. Milliseconds. */
const atWork = 5_000;

/** Programs that were found and built before the suite went into a network of its own, where nothing can be fetched. */
const programsVariable = 'MIXED_VERSION_PROXY_LIVE_CLIENTS';

const assets = assetsOfEnvironment();
if (!assets.ok) {
  process.stderr.write(`${assets.problems.join('\n')}\n\n${liveAssetsGuide}\n`);
  process.exitCode = 2;
} else if (process.env[programsVariable] !== undefined) await runUpgrades(assets.assets);
else {
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-clients-'));
  try {
    const programs = findClientPrograms(directory);
    for (const reason of programs.missing) console.log(`left out: ${reason}`);
    process.env[programsVariable] = JSON.stringify(programs);
    await runUpgrades(assets.assets);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function runUpgrades(live: LiveAssets): Promise<void> {
  await inOwnNetwork(live.apiServers, async () => {
    process.setMaxListeners(0);
    const { found } = JSON.parse(process.env[programsVariable] ?? '') as ClientPrograms;
    for (const upgrade of values.upgrades.split(',').filter(isUpgrade)) {
      const counted = await runUpgrade(upgrade, live, found);
      if (values.output !== undefined) {
        await writeFile(`${values.output}-${upgrade}.json`, `${JSON.stringify(counted, undefined, 1)}\n`);
      }
      for (const [client, kinds] of Object.entries(counted)) {
        for (const [kind, work] of Object.entries(kinds)) {
          console.log(`${upgrade}, ${client}, ${kind}: ${describeWork(work)}`);
        }
      }
    }
  });
}

async function runUpgrade(
  upgrade: Upgrade,
  live: LiveAssets,
  programs: readonly ClientProgram[],
): Promise<Record<string, WorkByKind>> {
  const newest = live.apiServers.at(-1) ?? live.apiServers[0];
  const { controlPlane, kubeconfig, controllerKubeconfig } = await startWayIn(
    upgrade === 'equal' ? 'balancer' : upgrade,
    live,
    { preferredVersion: 'majority', ...(upgrade === 'equal' ? { binaries: [newest, newest, newest] } : {}) },
  );
  try {
    const { servers, admin, path } = controlPlane;
    const controllerManager = controllerManagerOfEnvironment();
    if (controllerManager !== undefined) {
      const controllers = await startControllerManager(controlPlane, {
        binary: controllerManager,
        kubeconfig: controllerKubeconfig,
      });
      controlPlane.endWith(() => controllers.stop(processGrace));
    }
    const last = servers.at(-1);
    if (last === undefined) throw new TypeError('there are servers');
    const clients = await Promise.all(
      programs.map(async ({ name, command, args }) => {
        const namespace = `clients-${name.toLowerCase()}`;
        await objectClient(last.url, admin).create('/api/v1/namespaces', {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name: namespace },
        });
        const process = await startLoggedProcess({
          name,
          command,
          args: [...args, '--kubeconfig', kubeconfig, '--namespace', namespace],
          logFile: path(`client-${name}.log`),
        });
        controlPlane.endWith(() => process.kill());
        await waitUntil(`${name} is at work`, () => {
          if (!process.isRunning()) throw new Error(endOfLog(process));
          return process.log().includes('ready');
        });
        return process;
      }),
    );
    const pause = () => new Promise((resolve) => setTimeout(resolve, atWork));
    await pause();
    for (const server of servers) {
      await server.stop();
      await server.launch(newest);
      await server.untilReady();
      await pause();
    }
    return Object.fromEntries(
      await Promise.all(
        clients.map(async (client) => {
          await client.stop(clientGrace);
          return [client.name, figuresOf(client.log(), endOfLog(client))] as const;
        }),
      ),
    );
  } finally {
    await controlPlane.close();
  }
}

function isUpgrade(name: string): name is Upgrade {
  return (upgrades as readonly string[]).includes(name);
}
