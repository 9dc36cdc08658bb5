import { runSync } from '../../../src/sync/node/run-sync.ts';
import type { Machine } from '../virtual/virtual-time.ts';
import { files } from './access.ts';
import { clientsOf } from './reader-client.ts';
import { filesOfNode, textOf } from './router-node.ts';
import type { World } from './world.ts';

/** The sync job as a process of its own: it reads the cluster, and pushes signed snapshots to all routers. */
export class SyncNode {
  readonly node = 'sync';
  readonly files = new Map(filesOfNode('sync'));
  machine: Machine | undefined;
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  start(): void {
    const world = this.#world;
    const machine = world.newMachine(this.node);
    this.machine = machine;
    world.run.log('sync starts');
    const certificateAuthorities = textOf(this.files, '/pki/ca.crt');
    world.run.after(
      1,
      () => {
        runSync(
          {
            servers: [],
            kubernetes: { kubeconfig: '/pki/kubeconfig' },
            credentials: () => ({
              certificateAuthorities: textOf(this.files, '/pki/ca.crt'),
              clientCertificate: files.pusher,
              routerCertificateAuthorities: certificateAuthorities,
            }),
            routers: world.routers.map(({ origin }) => ({ url: origin, serverName: 'localhost' })),
            signingKey: files.signingKey,
            openClient: clientsOf(world, machine),
            readFile: (path) => textOf(this.files, path),
            logger: world.loggerOf(this.node),
          },
          new AbortController().signal,
        ).catch((error: unknown) => world.invariants.violated('start', `the sync job ends: ${error}`));
      },
      machine,
    );
  }

  kill(): void {
    const { machine } = this;
    if (machine === undefined) return;
    this.#world.run.log('sync gets SIGKILL');
    machine.alive = false;
    this.machine = undefined;
    this.#world.network.breakAll(machine);
  }
}
