// Runs kube-controller-manager in a mixed cluster whose servers go and come back: `npm run lab -- controllers`.
import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { readOptions } from '../../harness/command-line.ts';
import 'reflect-metadata';
import { Pkcs10CertificateRequestGenerator } from '@peculiar/x509';
import { keyAlgorithm } from '../../../demo/signed-certificate.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { assetsOfEnvironment, type LiveAssets, liveAssetsGuide } from '../cluster/assets.ts';
import { startControllerManager } from '../cluster/controller-manager.ts';
import { storedKeys } from '../cluster/etcd-keys.ts';
import { inOwnNetwork } from '../cluster/network.ts';
import { controllerManagerOfEnvironment, e2eAssetsGuide } from '../e2e/e2e-assets.ts';
import { startWayIn, type WayIn, waysIn } from '../e2e/way-in.ts';
import { objectClient } from './object-client.ts';
import {
  actOnRound,
  type Expectation,
  faultsOf,
  goThrough,
  keptNamespace,
  prepareRound,
  signingRequests,
} from './round.ts';
import { defineGadgets, migrationFlags, migratorFlags, servesMigrations } from './storage-migration.ts';

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
  const seed = Number(values.seed);
  const rounds = Number(values.rounds);
  const random = seededRandom(seed);
  const { controlPlane, origin, controllerKubeconfig } = await startWayIn(way, live, {
    preferredVersion: values['preferred-version'],
    serverFlags: migrationFlags,
  });
  try {
    const { servers, admin, etcdUrl } = controlPlane;
    const [oldest] = servers;
    const newest = servers.at(-1);
    if (oldest === undefined || newest === undefined) throw new TypeError('there are servers');
    // The controller of migrations applies a field of CustomResourceDefinitions that older servers do not have.
    const withMigration = values['preferred-version'] === 'newest' && servesMigrations(newest.binary());
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
    await clients.newest.create('/api/v1/namespaces', {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: keptNamespace },
    });
    const quotaName = 'count/resourceclaims.resource.k8s.io';
    await clients.newest.create(`/api/v1/namespaces/${keptNamespace}/resourcequotas`, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'claims' },
      spec: { hard: { [quotaName]: '1000' } },
    });
    const migrations = withMigration
      ? await defineGadgets(clients.tried, clients.newest, etcdUrl)
      : undefined;
    const request = await certificateRequest();
    const expectations: Expectation[] = [];
    const unsigned = async (of: readonly Expectation[]): Promise<readonly string[]> => {
      const signedOf = await Promise.all(
        of.map(async ({ signed }) => {
          const found = await clients.newest.get(`${signingRequests}/${signed}`);
          return found?.status?.['certificate'] === undefined ? signed : '';
        }),
      );
      return signedOf.filter((name) => name !== '');
    };
    const used = async () => {
      const quota = await clients.newest.get(`/api/v1/namespaces/${keptNamespace}/resourcequotas/claims`);
      return Number((quota?.status?.['used'] as Record<string, string> | undefined)?.[quotaName] ?? -1);
    };
    const isRight = async (of: readonly Expectation[]) => {
      const { orphans, wronglyDeleted } = faultsOf(of, await storedKeys(etcdUrl));
      return orphans.length + wronglyDeleted.length + (await unsigned(of)).length === 0;
    };
    let late = 0;
    console.log(
      `${way}: ${rounds} rounds, seed ${seed}, servers ${servers.map((each) => each.binary().version)}`,
    );
    for (let round = 1; round <= rounds; round++) {
      const server = servers[(round - 1) % servers.length] ?? newest;
      const signal = Math.floor((round - 1) / servers.length) % 2 === 0 ? 'SIGTERM' : 'SIGKILL';
      const outage = { server, signal, away: Math.round(random() * 4_000) } as const;
      const begin = Math.round(random() * 1_500);
      const expectation = await prepareRound(round, request, clients);
      expectations.push(expectation);
      await migrations?.advance();
      await Promise.all([actOnRound(round, clients), sleep(begin).then(() => goThrough(outage))]);
      const wasRight = await waitUntil(`round ${round}`, () => isRight([expectation]), {
        within: Number(values.patience),
        every: 500,
      }).then(
        () => true,
        () => false,
      );
      if (!wasRight) late++;
      const { orphans, wronglyDeleted } = faultsOf([expectation], await storedKeys(etcdUrl));
      console.log(
        `${way}, round ${round}: ${server.name} (${server.binary().version}) by ${signal} after ${begin} ms, away ${outage.away} ms: ${wasRight ? 'right' : `late; ${orphans.length} not gone, ${wronglyDeleted.length} wrongly deleted`}`,
      );
    }
    const quotaOf = async () => {
      const stored = await storedKeys(etcdUrl);
      const prefix = `/registry/resourceclaims/${keptNamespace}/`;
      return {
        used: await used(),
        expected: [...stored].filter((key) => key.startsWith(prefix)).length,
      };
    };
    await waitUntil(
      'everything is right in the end',
      async () => {
        const { used: counted, expected } = await quotaOf();
        const isMigrated = ((await migrations?.unfinished()) ?? []).length === 0;
        return isMigrated && (await isRight(expectations)) && counted === expected;
      },
      { within: withMigration ? lastPatience.withMigration : lastPatience.usual, every: 2_000 },
    ).catch(() => {});
    const faults = faultsOf(expectations, await storedKeys(etcdUrl));
    return {
      way,
      seed,
      rounds,
      late,
      ...faults,
      unsigned: await unsigned(expectations),
      ...(migrations && { migrations: migrations.asked(), unmigrated: await migrations.unfinished() }),
      quota: await quotaOf(),
    };
  } finally {
    await controlPlane.close();
  }
}

async function certificateRequest(): Promise<string> {
  const keys = await crypto.subtle.generateKey(keyAlgorithm, false, ['sign', 'verify']);
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: 'CN=live-client',
    keys,
    signingAlgorithm: keyAlgorithm,
  });
  return Buffer.from(request.toString('pem')).toString('base64');
}

function isWayIn(way: string): way is WayIn {
  return (waysIn as readonly string[]).includes(way);
}
