import { files } from '../model/access.ts';
import type { Flavour } from '../model/flavour.ts';
import { levelOf, pathOf, widgets } from '../model/flavour.ts';
import type { World } from '../model/world.ts';
import type { Plan, PlanEvent } from './plan.ts';

/** Milliseconds that a rotation of authorities leaves to each of its three steps. */
const rotationStep = 13_000;

/** Has everything of a plan happen in a world at its time. */
export function carryOut(plan: Plan, world: World): void {
  if (Object.keys(plan.clocks).length > 0)
    world.invariants.count('fault: clocks that are wrong from the beginning');
  if (!plan.hasLeases) world.invariants.count('fault: no Leases');
  for (const event of plan.events) {
    world.run.atWorld(event.at, () => {
      world.invariants.count(`fault: ${event.kind}${'how' in event ? ` by ${event.how}` : ''}`);
      happen(event, world);
    });
  }
}

function happen(event: PlanEvent, world: World): void {
  const { run, network, store } = world;
  const later = (milliseconds: number, task: () => void): void => {
    run.atWorld(run.now + milliseconds, task);
  };
  switch (event.kind) {
    case 'replace':
      replace(event, world);
      return;
    case 'restart-router': {
      const router = world.routers[event.router];
      if (router === undefined) return;
      if (event.how === 'SIGTERM') router.terminate();
      else router.kill(event.isTorn);
      world.disturb(router.node, event.down);
      later(event.down, () => {
        if (router.isRunning) router.kill(false);
        if (event.diskOf > 0) router.disk.restore(event.diskOf);
        router.start();
      });
      return;
    }
    case 'partition':
      network.cuts.push({ between: event.between, from: run.now, until: run.now + event.lasts });
      disturb(event.between, event.lasts, world);
      return;
    case 'break':
      network.breakBetween(...event.between);
      disturb(event.between, 0, world);
      return;
    case 'slow-network':
      network.slow.push({ ...event, from: run.now, until: run.now + event.lasts });
      // Requests that have set out within the time may arrive so much later.
      disturb(event.between, event.lasts + 3 * event.delay, world);
      return;
    case 'pause': {
      const machine = world.machineOf(event.node);
      if (machine !== undefined) machine.pausedUntil = Math.max(machine.pausedUntil, run.now + event.lasts);
      disturb([event.node, '*'], event.lasts, world);
      return;
    }
    case 'clock':
      world.setClock(event.node, event.by);
      return;
    case 'disk': {
      const router = world.routers[event.router];
      if (router !== undefined)
        router.disk.slow = { until: run.now + event.lasts, most: event.most, fails: event.fails };
      if (world.form === 'pushed') world.disturb(`r${event.router}`, event.lasts + event.most);
      return;
    }
    case 'slow-writes': {
      const server = world.servers[event.server];
      if (server !== undefined) server.stall = { until: run.now + event.lasts, most: event.most };
      return;
    }
    case 'etcd-hangs':
      store.hangsUntil = run.now + event.lasts;
      world.disturb('*', event.lasts);
      return;
    case 'overload': {
      const server = world.servers[event.server];
      if (server !== undefined) server.overloadedUntil = run.now + event.lasts;
      return;
    }
    case 'definition':
      if (!world.hasDefinition) world.define();
      return;
    case 'compaction':
      world.compactedBefore = store.version;
      return;
    case 'token':
      rotateToken(event.grace, event.spread, world);
      return;
    case 'authority':
      rotateAuthority(event.spread, world);
      return;
    case 'restart-sync':
      world.sync?.kill();
      world.disturb('sync', event.down);
      later(event.down, () => world.sync?.start());
      return;
  }
}

/** Knowledge of these nodes may be late until then: of a server, any router's. */
function disturb(between: readonly [string, string], lasts: number, world: World): void {
  const isOfServers = between.some((node) => node.startsWith('s') && node !== 'sync');
  const nodes = isOfServers && between.includes('*') ? ['*'] : between.filter((node) => node !== '*');
  for (const node of nodes) world.disturb(node.startsWith('s') && node !== 'sync' ? '*' : node, lasts);
}

function replace(event: Extract<PlanEvent, { kind: 'replace' }>, world: World): void {
  const { run, invariants } = world;
  const server = world.servers[event.server];
  if (server === undefined) return;
  const { flavour: from } = server;
  const turn = ++server.replacements;
  world.heat(0, 1_500);
  if (event.how === 'SIGTERM') server.terminate();
  else server.kill(event.how === 'host');
  // Callers that hang on to a host that does not answer have to find out by their time-outs.
  if (event.how === 'host') world.disturb('*', event.down);
  if (isOlder(event.to, from)) {
    invariants.count('fault: a rollback');
    invariants.rolledBackAt = Math.min(invariants.rolledBackAt, run.now);
  }
  run.atWorld(run.now + Math.max(event.down, 2_200), () => {
    // A kubelet has one manifest: a server that is replaced while it is down starts once, as the last one says.
    if (turn !== server.replacements) return;
    if (server.machine !== undefined) server.kill(false);
    server.start({ flavour: event.to, lease: event.lease, ready: event.ready });
  });
}

function isOlder(to: Flavour, from: Flavour): boolean {
  return levelOf(to) < levelOf(from) || (from.gate === true && to.gate !== true);
}

function allFiles(world: World): readonly Map<string, string>[] {
  return [
    ...world.routers.map((router) => router.files),
    ...(world.sync === undefined ? [] : [world.sync.files]),
  ];
}

/** New tokens come to the nodes one after the other; the old one is taken for a while. */
function rotateToken(grace: number, spread: number, world: World): void {
  const { run, access } = world;
  access.issued++;
  const token = `reader-token-${access.issued}`;
  const before = [...access.tokens];
  access.tokens.add(token);
  for (const [index, files] of allFiles(world).entries())
    run.atWorld(run.now + (spread * index) / 4, () => files.set('/pki/token', token));
  run.atWorld(run.now + grace + spread, () => {
    for (const old of before) access.tokens.delete(old);
    run.log('the old token ends');
  });
}

/** Trust both, serve with the new one, trust the new one alone. */
function rotateAuthority(spread: number, world: World): void {
  const { run } = world;
  const { A = '', B = '' } = files.authorities;
  for (const [index, all] of allFiles(world).entries()) {
    run.atWorld(run.now + (spread * index) / 4, () => all.set('/pki/ca.crt', `${A}\n${B}`));
    run.atWorld(run.now + 2 * rotationStep + (spread * index) / 4, () =>
      all.set('/pki/ca.crt', `${B}\n${A}`),
    );
  }
  for (const [index, server] of world.servers.entries()) {
    run.atWorld(run.now + rotationStep + spread + 200 * index, () => {
      server.authority = 'B';
      // A server reads its new certificate; who is connected stays so until the connection ends.
      network(world, server.node);
      run.log(`${server.node} has a certificate of the new authority`);
    });
  }
}

function network(world: World, node: string): void {
  world.network.breakBetween(node, '*');
  world.disturb('*', 0);
}

export const pathOfWidgets = pathOf(widgets);
