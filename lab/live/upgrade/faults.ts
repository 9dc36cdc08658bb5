import { setTimeout as sleep } from 'node:timers/promises';
import type { LiveRouter } from '../cluster/routers.ts';

/**
 * Faults of two of the routers at each step. `away`: they are killed before the server ends, and started with their
 * stored snapshot some time after it is back. `restarted`: they are killed as the server starts, and started at once or
 * while it comes up. `still`: they stand still, as a suspended machine does, from before the server ends until after it
 * is back.
 */
export const routerFaults = ['none', 'away', 'restarted', 'still'] as const;
export type RouterFault = (typeof routerFaults)[number];

/** Milliseconds: no longer than it takes until a change of versions counts, and a little. */
const longestAbsence = 15_000;
const longestStart = 5_000;

export interface StepFaults {
  /** The routers that are in trouble in this step: their knowledge comes late by intention. */
  readonly suffering: ReadonlySet<LiveRouter>;
  beforeEnd(): Promise<void>;
  afterLaunch(): void;
  afterReady(): void;
  /** Once every router is there again. */
  over(): Promise<unknown>;
}

/** @param step by which the routers are chosen: each one's turn comes */
export function faultsOfStep(
  fault: RouterFault,
  routers: readonly LiveRouter[],
  step: number,
  tell: (line: string) => void,
): StepFaults {
  const chosen = fault === 'none' ? [] : [step, step + 2].map((index) => routers[index % routers.length]);
  const suffering = new Set(chosen.filter((router) => router !== undefined));
  let returning: Promise<unknown> = Promise.resolve();
  const each = (work: (router: LiveRouter) => Promise<void>) => Promise.all([...suffering].map(work));
  const comeBack = (within: number) => {
    returning = each(async (router) => {
      await sleep(Math.random() * within);
      tell(`${router.name} is ${fault === 'still' ? 'woken' : 'started'}`);
      if (fault === 'still') process.kill(router.process.pid, 'SIGCONT');
      else await router.restart();
    });
  };
  return {
    suffering,
    async beforeEnd() {
      if (fault === 'away') await each((router) => router.process.kill());
      if (fault === 'still') for (const router of suffering) process.kill(router.process.pid, 'SIGSTOP');
      for (const { name } of fault === 'restarted' ? [] : suffering) tell(`${name} is ${fault}`);
    },
    afterLaunch() {
      if (fault !== 'restarted') return;
      returning = each((router) => router.process.kill());
      const killed = returning;
      comeBack(longestStart);
      returning = Promise.all([killed, returning]);
    },
    afterReady() {
      if (fault === 'away' || fault === 'still') comeBack(longestAbsence);
    },
    over: () => returning,
  };
}
