import { finalLook } from './invariants/final-look.ts';
import type { Violation } from './invariants/invariants.ts';
import { createObjects, startActors } from './model/actors.ts';
import { Clients } from './model/client.ts';
import { recovery, World } from './model/world.ts';
import { carryOut } from './plan/carry-out.ts';
import { durationOf, type Plan } from './plan/plan.ts';
import { preload } from './virtual/preload.ts';
import { VirtualRun } from './virtual/virtual-time.ts';

await preload();

export interface SimulationOptions {
  /** Keeps every line of the log. Default: only its digest. */
  readonly keepsLines?: boolean;
  /** Ends with the first violation. Default: at the end of the plan. */
  readonly stopsAtViolation?: boolean;
  /** Turns of the real event loop after each event. Default 1. */
  readonly turns?: number;
}

export interface SimulationResult {
  readonly plan: Plan;
  /** Digest of the whole log: the same for the same seed, wherever it runs. */
  readonly digest: string;
  readonly violations: readonly Violation[];
  readonly margins: ReadonlyMap<string, number>;
  readonly reached: ReadonlyMap<string, number>;
  readonly lines: readonly string[];
  readonly events: number;
  /** Virtual milliseconds. */
  readonly lasted: number;
}

/** Milliseconds after the last fault until everything must be well, and for looking whether it is. */
const quiet = recovery;
const looking = 8_000;

/** Carries out one plan under virtual time. */
export async function simulate(plan: Plan, options: SimulationOptions = {}): Promise<SimulationResult> {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const run = new VirtualRun(plan.seed, options);
  try {
    const world = new World(run, plan);
    const clients = new Clients(world);
    createObjects(clients);
    const informers = startActors(clients);
    carryOut(plan, world);
    const end = Math.max(6_000, ...plan.events.map((event) => event.at + durationOf(event))) + quiet;
    run.atWorld(end, () => {
      run.as(clients.machine, () => void finalLook(clients, informers));
    });
    if (options.stopsAtViolation === true) world.invariants.onViolation = () => run.end();
    await run.until(end + looking);
    world.invariants.ended();
    // The accounts of this process would otherwise keep all of the world.
    for (const { front } of world.routers) front.ended();
    const { violations, margins, reached } = world.invariants;
    const { lines, events, now: lasted } = run;
    return { plan, digest: run.close(), violations, margins, reached, lines, events, lasted };
  } finally {
    run.close();
    Error.stackTraceLimit = stackTraceLimit;
  }
}
