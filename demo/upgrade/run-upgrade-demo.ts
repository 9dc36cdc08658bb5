import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { renderLines } from '../../src/cli/terminal/styled-text.ts';
import type { RunningRouter } from '../../src/node/configuration/serve-config.ts';
import type { DemoCertificates } from '../certificates.ts';
import { withDemo } from '../run-demo.ts';
import { actionsOf } from './keys.ts';
import { Load, storeFixtures } from './load.ts';
import { RollingUpgrade } from './rolling-upgrade.ts';
import { serversOfOneVersion, startUpgradableCluster, type UpgradableCluster } from './upgradable-server.ts';
import { repainted, type UpgradeTerminal } from './upgrade-terminal.ts';
import {
  type CountsOfWays,
  countLines,
  countsExplained,
  eventText,
  type UpgradeEvent,
  upgradeScreen,
} from './upgrade-view.ts';
import { from, to } from './versions.ts';
import { WayIn } from './way-in.ts';

export interface UpgradeDemoOptions {
  /** A new or empty directory, removed when the demo ends. */
  readonly directory: string;
  /** Milliseconds between two upgrades. */
  readonly interval: number;
  readonly terminal: UpgradeTerminal;
  /** Ends the demo. */
  readonly signal: AbortSignal;
}

/** Milliseconds between two drawings of the screen. */
const redrawInterval = 250;

/**
 * Upgrades a cluster of three example API servers under the load of clients: a third goes through routers, a third through a
 * balancer that leads to servers of one version and is switched once, a third to any server.
 * With a screen it runs until somebody leaves, otherwise until the last server is upgraded. Resolves when everything
 * has stopped and been removed.
 */
export async function runUpgradeDemo({
  directory,
  interval,
  terminal,
  signal,
}: UpgradeDemoOptions): Promise<void> {
  let cluster: UpgradableCluster | undefined;
  terminal.write('Three API servers and three routers are starting …\n');
  const startServers = async (certificates: DemoCertificates) => {
    cluster = await startUpgradableCluster(certificates, from);
    return cluster.servers;
  };
  await withDemo(
    { directory, startServers, signal },
    async ({ certificates, routers, ...demo }, { endWith }) => {
      if (cluster === undefined) throw new TypeError('the servers were not started');
      const tls = {
        ca: await readFile(certificates.clusterCa, 'utf8'),
        cert: await readFile(certificates.admin.certificate, 'utf8'),
        key: await readFile(certificates.admin.privateKey, 'utf8'),
      };
      const { servers } = cluster;
      const urlsOf = (those: readonly { readonly url: string }[]) => those.map(({ url }) => url);
      const ways: Ways = {
        throughRouters: new WayIn(() => routers.map(({ origin }) => origin), tls),
        oneVersion: new WayIn(() => urlsOf(serversOfOneVersion(servers)), tls),
        anyServer: new WayIn(() => urlsOf(servers), tls),
      };
      endWith(() => Promise.all(Object.values(ways).map((way) => way.close())));
      const kubeconfig = resolve(demo.kubeconfig);
      terminal.write(
        `Three API servers of ${from}, a router in front of each. kubectl --kubeconfig ${kubeconfig} goes through one.\n`,
      );
      await upgradeUnderLoad({ cluster, routers, ways, interval, terminal, kubeconfig, signal });
    },
  );
}

/** As the columns of the table. */
type Ways = Readonly<Record<keyof CountsOfWays, WayIn>>;

interface UpgradeUnderLoad {
  readonly cluster: UpgradableCluster;
  readonly routers: readonly RunningRouter[];
  readonly ways: Ways;
  readonly interval: number;
  readonly terminal: UpgradeTerminal;
  readonly kubeconfig: string;
  readonly signal: AbortSignal;
}

function shownServers({ servers }: UpgradableCluster, routers: readonly RunningRouter[]) {
  return servers.map(({ name, version, running }, index) => ({
    name,
    version,
    isRunning: running !== undefined,
    router: routers[index]?.origin ?? '',
  }));
}

function startLoads(cluster: UpgradableCluster, ways: Ways) {
  const loads = {
    throughRouters: new Load(cluster, ways.throughRouters, 'routers'),
    oneVersion: new Load(cluster, ways.oneVersion, 'one-version'),
    anyServer: new Load(cluster, ways.anyServer, 'any-server'),
  };
  const counted: CountsOfWays = {
    throughRouters: loads.throughRouters.counts,
    oneVersion: loads.oneVersion.counts,
    anyServer: loads.anyServer.counts,
  };
  return { loads, counted };
}

async function upgradeUnderLoad({
  cluster,
  routers,
  ways,
  interval,
  terminal,
  kubeconfig,
  signal,
}: UpgradeUnderLoad): Promise<void> {
  const { servers } = cluster;
  const left = new AbortController();
  const ending = AbortSignal.any([signal, left.signal]);
  const begun = performance.now();
  const elapsed = () => performance.now() - begun;
  const events: UpgradeEvent[] = [];
  let isExplained = false;
  storeFixtures(cluster);
  const { loads, counted } = startLoads(cluster, ways);
  const upgrade = new RollingUpgrade({
    servers,
    interval,
    signal: ending,
    tell: (text) => {
      const event = { at: elapsed(), text };
      events.push(event);
      if (!terminal.isInteractive) terminal.write(`${eventText(event)}\n`);
    },
  });
  const screen = () =>
    renderLines(
      upgradeScreen({
        from,
        to,
        elapsed: elapsed(),
        servers: shownServers(cluster, routers),
        ...counted,
        events,
        isExplained,
        next: upgrade.next(performance.now()),
        kubeconfig,
        height: terminal.height(),
      }),
      terminal.isColored,
    );
  const failed = Promise.withResolvers<never>();
  const close = terminal.isInteractive
    ? terminal.open((typed) => {
        for (const action of actionsOf(typed, servers.length)) {
          if (action.kind === 'leave') left.abort();
          else if (action.kind === 'explain') isExplained = !isExplained;
          else upgrade.act(action).catch(failed.reject);
        }
      })
    : () => undefined;
  const shown = async (): Promise<void> => {
    while (!ending.aborted) {
      terminal.write(repainted(screen()));
      await sleep(redrawInterval, undefined, { signal: ending }).catch(() => undefined);
    }
  };
  const byItself = async (): Promise<void> => {
    await upgrade.runByItself();
    // As long with all of them upgraded as between two.
    if (!terminal.isInteractive) await sleep(interval, undefined, { signal: ending }).catch(() => undefined);
  };
  try {
    await Promise.race([
      failed.promise,
      terminal.isInteractive ? Promise.all([shown(), byItself()]) : byItself(),
    ]);
  } finally {
    left.abort();
    close();
    await Promise.allSettled([upgrade.settled(), ...Object.values(loads).map((load) => load.stop())]);
    terminal.write(`\n${renderLines(countLines(counted), terminal.isColored)}${countsExplained}`);
  }
}
