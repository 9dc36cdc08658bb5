// Runs kube-controller-manager in a mixed cluster whose servers go and come back: `npm run lab -- controllers`.
import { writeFile } from 'node:fs/promises';
import { readOptions } from '../../harness/command-line.ts';
import { assetsOfEnvironment, type LiveAssets, liveAssetsGuide } from '../cluster/assets.ts';
import { startControllerManager } from '../cluster/controller-manager.ts';
import { inOwnNetwork } from '../cluster/network.ts';
import { controllerManagerOfEnvironment, e2eAssetsGuide } from '../e2e/e2e-assets.ts';
import { startWayIn, type WayIn, waysIn } from '../e2e/way-in.ts';
import { objectClient } from './object-client.ts';
import { Rounds } from './rounds.ts';
import { migrationFlags, migratorFlags, servesMigrations } from './storage-migration.ts';

const values = readOptions('controllers', {
  ways: { type: 'string', default: 'routers,balancer', value: 'LIST', about: 'into the cluster' },
  rounds: { type: 'string', default: '50', value: 'N', about: 'how many' },
  seed: { type: 'string', default: `${Date.now() % 1_000_000}`, value: 'N', about: 'of what is drawn' },
  patience: {
    type: 'string',
    default: '30000',
    value: 'MS',
    about: 'how long a round is waited for before the next one begins; what is late may still come',
  },
  'preferred-version': {
    type: 'string',
    default: 'majority',
    value: 'NAME',
    about: 'of the routers; newest adds storage version migration, which older servers refuse',
  },
  output: { type: 'string', value: 'NAME', about: 'the figures of each way go to <name>-<way>.json' },
});

/**
 * After the last round: what is not right by then never will be. The migrator tries again at intervals that double,
 * until a bookmark has come by (pkg/controller/storageversionmigrator/storageversionmigrator.go).
 */
const lastPatience = { usual: 180_000, withMigration: 600_000 };
const processGrace = 5000;

const assets = assetsOfEnvironment();
const controllerManager = controllerManagerOfEnvironment();
if (!assets.ok || controllerManager === undefined) {
  const problems = assets.ok ? ['no kube-controller-manager'] : assets.problems;
  process.stderr.write(`${problems.join('\n')}\n\n${liveAssetsGuide}\n${e2eAssetsGuide}\n`);
  process.exitCode = 2;
} else {
  await inOwnNetwork(assets.assets.apiServers, async () => {
    process.setMaxListeners(0);
    for (const way of values.ways.split(',').filter(isWayIn)) {
      const figures = await runRounds(way, assets.assets, controllerManager);
      console.log(JSON.stringify(figures));
      if (values.output !== undefined)
        await writeFile(`${values.output}-${way}.json`, `${JSON.stringify(figures, undefined, 1)}\n`);
      const faults =
        figures.orphans.length +
        figures.wronglyDeleted.length +
        figures.unsigned.length +
        (figures.unmigrated?.length ?? 0);
      // Without routers faults are what is to be shown.
      if (way !== 'balancer' && (faults > 0 || figures.quota.used !== figures.quota.expected))
        process.exitCode = 1;
    }
  });
}

async function runRounds(way: WayIn, live: LiveAssets, binary: string) {
  const preferredVersion = values['preferred-version'];
  const opened = await startWayIn(way, live, { preferredVersion, serverFlags: migrationFlags });
  const { controlPlane, origin, controllerKubeconfig } = opened;
  try {
    const { servers, admin } = controlPlane;
    const [oldest] = servers;
    const newest = servers.at(-1);
    if (oldest === undefined || newest === undefined) throw new TypeError('there are servers');
    // The controller of migrations applies a field of CustomResourceDefinitions that older servers do not have.
    const withMigration = preferredVersion === 'newest' && servesMigrations(newest.binary());
    if (!withMigration)
      console.log(
        'storage version migration is left out: it needs Kubernetes 1.35 and --preferred-version=newest',
      );
    const controllers = await startControllerManager(controlPlane, {
      binary,
      kubeconfig: controllerKubeconfig,
      flags: withMigration ? migratorFlags : [],
    });
    controlPlane.endWith(() => controllers.stop(processGrace));
    const clients = {
      tried: objectClient(origin, admin),
      newest: objectClient(newest.url, admin),
      oldest: objectClient(oldest.url, admin),
    };
    const options = {
      seed: Number(values.seed),
      rounds: Number(values.rounds),
      patience: Number(values.patience),
    };
    const rounds = new Rounds(way, controlPlane, clients, options);
    await rounds.begin(withMigration);
    for (let round = 1; round <= options.rounds; round++) {
      await rounds.play(round, servers[(round - 1) % servers.length] ?? newest);
    }
    return await rounds.end(withMigration ? lastPatience.withMigration : lastPatience.usual);
  } finally {
    await controlPlane.close();
  }
}

function isWayIn(way: string): way is WayIn {
  return (waysIn as readonly string[]).includes(way);
}
