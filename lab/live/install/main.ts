// Installs routers on three nodes of kubeadm, upgrades these, and removes the routers: `npm run lab -- install`.
import { appendFile } from 'node:fs/promises';
import { readOptions } from '../../harness/command-line.ts';
import { liveAssetsGuide } from '../cluster/assets.ts';
import { inOwnNetwork, liveNetwork } from '../cluster/network.ts';
import { findInstallAssets, type InstallAssets, installAssetsGuide } from './install-assets.ts';
import { installInterrupted } from './interrupted.ts';
import { startKubeadmCluster } from './kubeadm-cluster.ts';
import { installAndUndo, installUpgradeAndUndo } from './steps.ts';

const values = readOptions('install', {
  /** A cluster is upgraded once, so `beside` has one of its own. */
  steps: {
    type: 'string',
    default: 'undo,interrupted,upgrade,beside',
    value: 'LIST',
    about:
      'undo (with the port, and back), interrupted (killed after each line, two at once), upgrade (beside, with the port, upgraded, undone), beside (upgraded, undone)',
  },
  output: { type: 'string', value: 'FILE', about: 'to which each line is added' },
});

const assets = findInstallAssets();
if ('problems' in assets) {
  process.stderr.write(`${assets.problems.join('\n')}\n\n${liveAssetsGuide}\n${installAssetsGuide}\n`);
  process.exitCode = 2;
} else {
  await inOwnNetwork([assets.older.apiServer, assets.newer.apiServer], async () => {
    process.setMaxListeners(0);
    await runAll(assets);
  });
}

async function tell(line: string): Promise<void> {
  console.log(line);
  if (values.output !== undefined) await appendFile(values.output, `${line}\n`);
}

async function runAll(found: InstallAssets): Promise<void> {
  if (!liveNetwork().isOwn) throw new Error('nodes need network namespaces of their own');
  const { older, newer } = found;
  const steps = values.steps.split(',');
  const clusters = [steps.filter((step) => step !== 'beside'), steps.filter((step) => step === 'beside')];
  for (const each of clusters.filter(({ length }) => length > 0)) {
    await tell(`Kubernetes ${older.version} and ${newer.version}: making three nodes`);
    await runSteps(each, found);
  }
}

async function runSteps(steps: readonly string[], found: InstallAssets): Promise<void> {
  const { older } = found;
  const cluster = await startKubeadmCluster(found);
  try {
    for (const step of steps) {
      if (step === 'undo') await installAndUndo(cluster, older, tell);
      else if (step === 'interrupted') await installInterrupted(cluster, older, tell);
      else if (step === 'upgrade' || step === 'beside')
        await installUpgradeAndUndo(cluster, found, step, tell);
      else throw new TypeError(`--steps: ${step} is none`);
    }
  } catch (error) {
    for (const { name, log } of cluster.machines) await tell(`kubelet of ${name}:\n${log()}`);
    throw error;
  } finally {
    await cluster.close();
  }
}
