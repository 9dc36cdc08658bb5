import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { Draws } from './draws.ts';
import { realSetImmediate } from './real.ts';

/** A process on a computer with a clock of its own. */
export interface Machine {
  /** `r1`: stays over restarts, so that draws and links go by it. */
  readonly name: string;
  /** Milliseconds that its wall clock is ahead. */
  offset: number;
  /** How much faster its wall clock runs: 0.01 is 1 %. */
  readonly drift: number;
  /** False once the process has ended: nothing of it runs any more. */
  alive: boolean;
  /** SIGSTOP: what is due waits until then. */
  pausedUntil: number;
}

export interface VirtualEvent {
  at: number;
  readonly order: number;
  readonly run: () => void;
  readonly on: Machine | undefined;
  isOff: boolean;
}

function isBefore(one: VirtualEvent, other: VirtualEvent): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

/** Events that are due, by time and then by the order in which they were planned: a binary heap. */
class EventQueue {
  readonly #events: VirtualEvent[] = [];

  push(event: VirtualEvent): void {
    const events = this.#events;
    let place = events.length;
    events.push(event);
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = events[above];
      if (parent === undefined || isBefore(parent, event)) break;
      events[place] = parent;
      place = above;
    }
    events[place] = event;
  }

  get first(): VirtualEvent | undefined {
    return this.#events[0];
  }

  take(): VirtualEvent | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (last === undefined || events.length === 0) return first;
    let place = 0;
    for (;;) {
      let below = 2 * place + 1;
      let child = events[below];
      if (child === undefined) break;
      const right = events[below + 1];
      if (right !== undefined && isBefore(right, child)) {
        below++;
        child = right;
      }
      if (isBefore(last, child)) break;
      events[place] = child;
      place = below;
    }
    events[place] = last;
    return first;
  }
}

const running = new AsyncLocalStorage<Machine | undefined>();

/** Which machine's code runs now. It follows promises and timers. */
export function currentMachine(): Machine | undefined {
  return running.getStore();
}

let active: VirtualRun | undefined;

/** The run that is on; `undefined` outside: then time is the real one. */
export function activeRun(): VirtualRun | undefined {
  return active;
}

/** 1 December 2026: certificates of the simulation are valid then. */
const epoch = Date.UTC(2026, 11, 1);

/**
 * One run under virtual time: a queue of events, each carried out to the end of all that follows from it in microtasks, before
 * the next one is taken. Nothing waits for real time.
 */
export class VirtualRun {
  readonly draws: Draws;
  /** Milliseconds since the beginning. */
  now = 0;
  events = 0;
  /** Every line, where they are wanted. */
  readonly lines: string[] = [];
  readonly #queue = new EventQueue();
  readonly #digest = createHash('sha256');
  readonly #keepsLines: boolean;
  readonly #turns: number;
  #order = 0;
  #isOver = false;

  /** @param turns of the real event loop after each event: any number gives the same run */
  constructor(seed: number, { keepsLines = false, turns = 1 } = {}) {
    this.draws = new Draws(seed);
    this.#keepsLines = keepsLines;
    this.#turns = turns;
    if (active !== undefined) throw new Error('a run is on already');
    active = this;
  }

  /** @param on whose event it is: skipped once that process has ended. Default: whose code runs now */
  at(time: number, run: () => void, on: Machine | undefined = currentMachine()): VirtualEvent {
    const event = { at: Math.max(time, this.now), order: this.#order++, run, on, isOff: false };
    this.#queue.push(event);
    return event;
  }

  after(milliseconds: number, run: () => void, on: Machine | undefined = currentMachine()): VirtualEvent {
    return this.at(this.now + milliseconds, run, on);
  }

  /** Nobody's event: it happens whatever has ended. */
  atWorld(time: number, run: () => void): VirtualEvent {
    return running.run(undefined, () => this.at(time, run, undefined));
  }

  sleep(milliseconds: number, on?: Machine): Promise<void> {
    return new Promise((resolve) => this.after(milliseconds, resolve, on));
  }

  as<Result>(machine: Machine | undefined, task: () => Result): Result {
    return running.run(machine, task);
  }

  /** Milliseconds since the epoch by the machine's clock. */
  wallClock(machine: Machine | undefined = currentMachine()): number {
    return Math.floor(epoch + this.now * (1 + (machine?.drift ?? 0)) + (machine?.offset ?? 0));
  }

  log(text: string): void {
    const line = `${this.now.toFixed(2)} ${text}\n`;
    this.#digest.update(line);
    if (this.#keepsLines) this.lines.push(line);
  }

  end(): void {
    this.#isOver = true;
  }

  async until(time: number): Promise<void> {
    while (!this.#isOver) {
      const { first } = this.#queue;
      if (first === undefined || first.at > time) break;
      this.#queue.take();
      if (first.isOff || first.on?.alive === false) continue;
      const pausedUntil = first.on?.pausedUntil ?? 0;
      if (pausedUntil > first.at) {
        first.at = pausedUntil;
        this.#queue.push(first);
        continue;
      }
      this.now = first.at;
      this.events++;
      running.run(first.on, first.run);
      await drained(this.#turns);
    }
    if (!this.#isOver) this.now = time;
  }

  /** Time is the real one again. @returns the digest of the log */
  close(): string {
    if (active === this) active = undefined;
    return this.#digest.copy().digest('hex').slice(0, 16);
  }
}

/** Resolves when no microtask is left. */
function drained(turns: number): Promise<void> {
  return new Promise((resolve) => {
    let left = turns;
    const turn = (): void => {
      left--;
      if (left <= 0) resolve();
      else realSetImmediate(turn);
    };
    realSetImmediate(turn);
  });
}
