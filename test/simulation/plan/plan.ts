import type { Flavour } from '../model/flavour.ts';
import type { Form } from '../model/router-node.ts';
import { Draws } from '../virtual/draws.ts';

/** Something that happens at a time, whole: what it begins it also ends, so that it can be taken out of a plan. */
export type PlanEvent = { readonly at: number } & (
  | {
      readonly kind: 'replace';
      readonly server: number;
      readonly how: 'SIGTERM' | 'SIGKILL' | 'host';
      /** Milliseconds until it starts again, from then to its Lease, and to being ready. */
      readonly down: number;
      readonly lease: number;
      readonly ready: number;
      readonly to: Flavour;
    }
  | {
      readonly kind: 'restart-router';
      readonly router: number;
      readonly how: 'SIGTERM' | 'SIGKILL';
      readonly down: number;
      readonly isTorn: boolean;
      /** Age of the snapshot file that the disk has at the new start, in milliseconds. 0: the latest. */
      readonly diskOf: number;
    }
  | { readonly kind: 'partition'; readonly between: readonly [string, string]; readonly lasts: number }
  | { readonly kind: 'break'; readonly between: readonly [string, string] }
  | {
      readonly kind: 'slow-network';
      readonly between: readonly [string, string];
      readonly lasts: number;
      readonly delay: number;
      readonly reading: boolean;
    }
  | { readonly kind: 'pause'; readonly node: string; readonly lasts: number }
  | { readonly kind: 'clock'; readonly node: string; readonly by: number }
  | {
      readonly kind: 'disk';
      readonly router: number;
      readonly lasts: number;
      readonly most: number;
      readonly fails: boolean;
    }
  | { readonly kind: 'slow-writes'; readonly server: number; readonly lasts: number; readonly most: number }
  | { readonly kind: 'etcd-hangs'; readonly lasts: number }
  | { readonly kind: 'overload'; readonly server: number; readonly lasts: number }
  | { readonly kind: 'definition' }
  | { readonly kind: 'compaction' }
  | { readonly kind: 'token'; readonly grace: number; readonly spread: number }
  | { readonly kind: 'authority'; readonly spread: number }
  | { readonly kind: 'restart-sync'; readonly down: number }
);

export type EventKind = PlanEvent['kind'];

/** One run, before chance: the world, what its operator does, and what goes wrong. */
export interface Plan {
  readonly seed: number;
  readonly form: Form;
  readonly preferredVersion: 'majority' | 'newest';
  readonly flavours: readonly Flavour[];
  readonly clocks: Readonly<Record<string, { readonly offset: number; readonly drift: number }>>;
  readonly hasDefinition: boolean;
  /** False: API servers write no identity Leases (before 1.26, or without the gate APIServerIdentity). */
  readonly hasLeases: boolean;
  readonly events: readonly PlanEvent[];
}

const nodes = ['r0', 'r1', 'r2'];

/** Steps of the operator, as a way from one flavour to the next. */
function pathOf(draws: Draws): readonly Flavour[] {
  const old: Flavour = { binary: 35 };
  const next: Flavour = { binary: 36 };
  const paths: readonly (readonly Flavour[])[] = [
    [old, next],
    [old, next],
    [next, { binary: 37 }],
    [{ binary: 36, emulated: 35 }, next],
    [old, { binary: 36, emulated: 35 }, next],
    [next, { binary: 36, gate: true }],
    [old, { binary: 37 }],
  ];
  return draws.pick('plan/path', paths);
}

/** Everything that chance decides beforehand. */
export function planOf(seed: number): Plan {
  const draws = new Draws(seed);
  const path = pathOf(draws);
  const [first = { binary: 35 }, second = first, third] = path;
  const flavours: Flavour[] = [first, first, first];
  const events: PlanEvent[] = [];
  const form = draws.chance('plan/form', 0.3) ? 'pushed' : 'embedded';
  // One server after the other; an operator in a hurry does not wait for the one before.
  let at = draws.between('plan/operator', 2_600, 4_200);
  const replacements = draws.pick('plan/operator', [1, 1, 2, 2, 3]);
  const order = draws.chance('plan/order', 0.5) ? [0, 1, 2] : [2, 0, 1];
  const isRollback = draws.chance('plan/rollback', 0.12);
  const replace = (server: number, to: Flavour): void => {
    const how = draws.pick('plan/how', ['SIGTERM', 'SIGTERM', 'SIGTERM', 'SIGKILL', 'host'] as const);
    const down = draws.between('plan/down', 200, 3_000);
    const ready = draws.between('plan/ready', 600, 3_500);
    const lease = Math.min(ready - 50, draws.between('plan/lease', 100, 1_500));
    events.push({ at, kind: 'replace', server, how, down, lease, ready, to });
    flavours[server] = to;
    at += down + ready + (draws.chance('plan/hurry', 0.2) ? -800 : draws.between('plan/pause', 300, 3_500));
  };
  for (const server of order.slice(0, replacements)) replace(server, second);
  if (third !== undefined) replace(order[0] ?? 0, third);
  else if (isRollback) replace(order[0] ?? 0, first);
  const last = at;
  if (draws.chance('plan/absence', 0.05)) events.push(maintenance(draws, last, order[0] ?? 0, flavours));
  // Few kinds of faults in one run, and then strong ones: rare events need unfair chance.
  const themes = 1 + draws.below('plan/themes', 3);
  const clocks: Record<string, { offset: number; drift: number }> = {};
  for (let theme = 0; theme < themes; theme++) addFaults(draws, theme, { last, clocks, events, form });
  events.sort((one, other) => one.at - other.at);
  return {
    seed,
    form,
    preferredVersion: draws.chance('plan/preferred', 0.3) ? 'newest' : 'majority',
    flavours: [first, first, first],
    clocks,
    hasDefinition: draws.chance('plan/definition', 0.5),
    hasLeases: draws.chance('plan/leases', 0.85),
    events,
  };
}

/** A server that is stopped for longer than it takes to depart, and then comes back as it was. */
function maintenance(draws: Draws, at: number, server: number, flavours: readonly Flavour[]): PlanEvent {
  const down = draws.between('plan/absence', 8_000, 12_000);
  const to = flavours[server] ?? { binary: 35 };
  return { at: at + 500, kind: 'replace', server, how: 'SIGTERM', down, lease: 300, ready: 1_500, to };
}

interface Making {
  /** When the last replacement is over, about. */
  readonly last: number;
  readonly clocks: Record<string, { offset: number; drift: number }>;
  readonly events: PlanEvent[];
  readonly form: Form;
}

/** Every fault that a run counts, by the name under which it does (`carryOut`). */
export function faultNames(): readonly string[] {
  const kinds = new Set(themeKinds.filter((kind) => kind !== 'none' && kind !== 'clocks'));
  kinds.delete('restart-router');
  const ways = ['replace by SIGTERM', 'replace by SIGKILL', 'replace by host'];
  const restarts = ['restart-router by SIGTERM', 'restart-router by SIGKILL'];
  return [
    ...ways,
    ...restarts,
    ...kinds,
    'clocks that are wrong from the beginning',
    'a rollback',
    'no Leases',
  ].map((kind) => `fault: ${kind}`);
}

const themeKinds: readonly (EventKind | 'clocks' | 'none')[] = [
  ...([
    'none',
    'clocks',
    'clocks',
    'clock',
    'disk',
    'restart-router',
    'restart-router',
    'partition',
  ] as const),
  ...(['partition', 'slow-network', 'slow-network', 'pause', 'break', 'slow-writes', 'etcd-hangs'] as const),
  ...(['overload', 'definition', 'compaction', 'token', 'authority', 'restart-sync'] as const),
];

function addFaults(draws: Draws, theme: number, { last, clocks, events, form }: Making): void {
  const name = `fault/${theme}`;
  const kind = draws.pick(name, themeKinds);
  const at = (): number => draws.between(name, 2_300, last + 500);
  const server = (): number => draws.below(name, 3);
  const node = (): string => draws.pick(name, ['r0', 'r1', 'r2', 's0', 's1', 's2']);
  const pair = (): readonly [string, string] => {
    const reader = form === 'pushed' ? draws.pick(name, ['sync', ...nodes]) : draws.pick(name, nodes);
    const others = reader === 'sync' ? ['s0', 's1', 's2', 'r0', 'r1', 'r2', '*'] : ['s0', 's1', 's2', '*'];
    return [reader, draws.pick(name, others)];
  };
  const times = 1 + draws.below(name, 3);
  if (kind === 'none') return;
  if (kind === 'clocks') {
    // A snapshot of more than five minutes ahead is refused (docs/reference/limits.md).
    const most = draws.pick(name, [500, 1_500, 60_000, form === 'pushed' ? 100_000 : 3_600_000]);
    for (const each of [...nodes, 's0', 's1', 's2', 'sync']) {
      const drift = draws.chance(name, 0.3) ? draws.between(name, -0.02, 0.02) : 0;
      clocks[each] = { offset: draws.between(name, -most, most), drift };
    }
    return;
  }
  for (let time = 0; time < times; time++) {
    const when = at();
    const event = eventOf(kind, { at: when, draws, name, server, node, pair, form });
    if (event !== undefined) events.push(event);
  }
}

interface Drawing {
  readonly at: number;
  readonly draws: Draws;
  readonly name: string;
  readonly server: () => number;
  readonly node: () => string;
  readonly pair: () => readonly [string, string];
  readonly form: Form;
}

function eventOf(
  kind: EventKind,
  { at, draws, name, server, node, pair, form }: Drawing,
): PlanEvent | undefined {
  const between = (from: number, to: number): number => draws.between(name, from, to);
  switch (kind) {
    case 'replace':
      return undefined;
    case 'restart-router': {
      const how = draws.pick(name, ['SIGTERM', 'SIGKILL', 'SIGKILL'] as const);
      const diskOf = draws.pick(name, [0, 0, 3_000, 8_000, Number.POSITIVE_INFINITY]);
      const isTorn = how === 'SIGKILL' && draws.chance(name, 0.3);
      return { at, kind, router: server(), how, down: between(50, 4_000), isTorn, diskOf };
    }
    case 'partition': {
      // Long enough for a snapshot to be renewed, if anybody could read.
      if (draws.chance(name, 0.06))
        return { at, kind, between: [pair()[0], '*'], lasts: between(80_000, 130_000) };
      return { at, kind, between: pair(), lasts: between(500, 9_000) };
    }
    case 'break':
      return { at, kind, between: pair() };
    case 'slow-network': {
      const reading = draws.chance(name, 0.8);
      const delay = reading ? draws.pick(name, [300, 1_500, 4_000, 20_000]) : draws.pick(name, [50, 300]);
      return { at, kind, between: pair(), lasts: between(2_000, 12_000), delay, reading };
    }
    case 'pause':
      return { at, kind, node: node(), lasts: draws.pick(name, [300, 1_500, 5_000]) * between(0.5, 1) };
    case 'clock': {
      const far = form === 'pushed' ? 100_000 : 3_600_000;
      return { at, kind, node: node(), by: draws.pick(name, [-far, -5_000, -900, 900, 5_000, far]) };
    }
    case 'disk': {
      const fails = draws.chance(name, 0.3);
      return {
        at: at - 2_000,
        kind,
        router: server(),
        lasts: between(4_000, 15_000),
        most: draws.pick(name, [200, 2_000, 12_000]),
        fails,
      };
    }
    case 'slow-writes':
      return { at, kind, server: server(), lasts: between(1_000, 6_000), most: between(200, 1_500) };
    case 'etcd-hangs':
      return { at, kind, lasts: between(200, 4_000) };
    case 'overload':
      return { at, kind, server: server(), lasts: between(500, 4_000) };
    case 'definition':
    case 'compaction':
      return { at, kind };
    case 'token':
      return { at, kind, grace: draws.pick(name, [12_000, 15_000]), spread: between(0, 1_500) };
    case 'authority':
      return { at, kind, spread: between(0, 1_500) };
    case 'restart-sync':
      return form === 'pushed' ? { at, kind, down: between(100, 6_000) } : undefined;
  }
}

/** Milliseconds for which callers hang on to a host that does not answer: as their time-outs. */
const hanging = 5_000;

/** Milliseconds that an event lasts, with what it does later. */
export function durationOf(event: PlanEvent): number {
  switch (event.kind) {
    case 'replace':
      return event.down + event.ready + (event.how === 'host' ? hanging : 0);
    case 'restart-router':
    case 'restart-sync':
      return event.down;
    case 'token':
      return event.grace + event.spread;
    case 'authority':
      return 26_000 + event.spread;
    case 'slow-network':
      // What has set out within the time arrives so much later.
      return event.lasts + event.delay;
    default:
      return 'lasts' in event ? event.lasts : 0;
  }
}
