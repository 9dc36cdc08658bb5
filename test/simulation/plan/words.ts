import { nameOfFlavour } from '../model/flavour.ts';
import type { Plan, PlanEvent } from './plan.ts';

function time(milliseconds: number): string {
  if (milliseconds === Number.POSITIVE_INFINITY) return 'all time';
  const { abs } = Math;
  return abs(milliseconds) < 1_000
    ? `${milliseconds.toFixed(0)} ms`
    : `${(milliseconds / 1000).toFixed(2)} s`;
}

function nodeName(name: string): string {
  if (name === '*') return 'everybody';
  if (name === 'sync') return 'the sync job';
  return name.startsWith('r') ? `router ${name}` : `server ${name}`;
}

function wordsOf(event: PlanEvent): string {
  switch (event.kind) {
    case 'replace': {
      const ends = event.how === 'host' ? 'loses power' : `gets ${event.how}`;
      return `server s${event.server} ${ends}; ${time(Math.max(event.down, 2_200))} later it starts as ${nameOfFlavour(event.to)}, has its Lease after ${time(event.lease)} and is ready after ${time(event.ready)}`;
    }
    case 'restart-router': {
      const disk = event.diskOf > 0 ? `, with the snapshot file of ${time(event.diskOf)} before` : '';
      const torn = event.isTorn ? ', the file torn' : '';
      return `router r${event.router} gets ${event.how}${torn}; ${time(event.down)} later it starts again${disk}`;
    }
    case 'partition':
      return `${nodeName(event.between[0])} and ${nodeName(event.between[1])} cannot reach each other for ${time(event.lasts)}`;
    case 'break':
      return `all connections between ${nodeName(event.between[0])} and ${nodeName(event.between[1])} break`;
    case 'slow-network': {
      const what = event.reading ? 'what is read and pushed' : "clients' requests";
      return `${what} between ${nodeName(event.between[0])} and ${nodeName(event.between[1])} takes up to ${time(event.delay)} longer each way, for ${time(event.lasts)}`;
    }
    case 'pause':
      return `${nodeName(event.node)} stands still (SIGSTOP) for ${time(event.lasts)}`;
    case 'clock':
      return `the clock of ${nodeName(event.node)} jumps by ${time(event.by)}`;
    case 'disk':
      return `the disk of router r${event.router} takes up to ${time(event.most)} for a write${event.fails ? ' and fails it' : ''}, for ${time(event.lasts)}`;
    case 'slow-writes':
      return `server s${event.server} takes up to ${time(event.most)} for a write, for ${time(event.lasts)}`;
    case 'etcd-hangs':
      return `etcd answers nothing for ${time(event.lasts)}`;
    case 'overload':
      return `server s${event.server} answers 429 for ${time(event.lasts)}`;
    case 'definition':
      return 'a CustomResourceDefinition is created';
    case 'compaction':
      return 'etcd is compacted';
    case 'token':
      return `the readers' token is renewed; the old one ends ${time(event.grace + event.spread)} later`;
    case 'authority':
      return 'the cluster changes to another certificate authority, in three steps';
    case 'restart-sync':
      return `the sync job gets SIGKILL; ${time(event.down)} later it starts again`;
  }
}

/** A plan as an operator would tell it. */
export function storyOf(plan: Plan): readonly string[] {
  const { form, preferredVersion, flavours, clocks, hasLeases, events } = plan;
  const reading =
    form === 'embedded' ? 'each reads the cluster itself' : 'a sync job pushes signed snapshots to them';
  const versions = flavours.map((flavour, index) => `s${index} ${nameOfFlavour(flavour)}`).join(', ');
  const wrong = Object.entries(clocks).map(([node, { offset, drift }]) => {
    const runs = drift === 0 ? '' : ` and runs ${(drift * 100).toFixed(1)} % fast`;
    return `  the clock of ${nodeName(node)} is ${time(offset)} ahead${runs}`;
  });
  return [
    `  three routers before three servers (${versions}); ${reading}; they prefer the ${preferredVersion} version${hasLeases ? '' : '; there are no identity Leases'}`,
    ...wrong,
    ...events.map((event) => `  ${(event.at / 1000).toFixed(2).padStart(6)} s  ${wordsOf(event)}`),
  ];
}
