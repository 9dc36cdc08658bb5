import type { createFileSnapshotStore } from '../../../src/node/files/file-snapshot-store.ts';
import type { Machine } from '../virtual/virtual-time.ts';
import type { World } from './world.ts';

/** The file of a router's snapshot: stays when its process ends. */
export class Disk {
  text: string | undefined;
  /** Until then a write takes so many milliseconds at most, and may fail. */
  slow = { until: 0, most: 0, fails: false };
  /** Texts of earlier moments: to be restored, as from an image of the machine. */
  readonly #before: { readonly at: number; readonly text: string }[] = [];
  #writing: string | undefined;
  readonly #world: World;
  readonly #node: string;

  constructor(world: World, node: string) {
    this.#world = world;
    this.#node = node;
  }

  storeFor(machine: Machine): typeof createFileSnapshotStore {
    return () => {
      const { run } = this.#world;
      let last: Promise<unknown> = Promise.resolve();
      const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
        const turn = last.then(work);
        last = turn.catch(() => undefined);
        return turn;
      };
      return {
        load: () =>
          inTurn(async () => {
            await run.sleep(1, machine);
            return this.text;
          }),
        save: (text) =>
          inTurn(async () => {
            const { until, most, fails } = this.slow;
            const isSlow = run.now < until;
            const name = `${this.#node}/disk`;
            this.#writing = text;
            await run.sleep(1 + run.draws.next(name) * (isSlow ? most : 6), machine);
            this.#writing = undefined;
            if (isSlow && fails) throw new Error('ENOSPC: no space left on device, write');
            this.#before.push({ at: run.now, text });
            this.text = text;
          }),
      };
    };
  }

  /** The process ended. @param isTorn what was being written is half there: a file system that does not keep its order */
  crashed(isTorn: boolean): void {
    if (isTorn && this.#writing !== undefined) this.text = this.#writing.slice(0, this.#writing.length / 2);
    else if (isTorn && this.text !== undefined) this.text = this.text.slice(0, -40);
    this.#writing = undefined;
  }

  /** As it was that long ago, or as long ago as there was anything. @param milliseconds `Infinity`: it is empty */
  restore(milliseconds: number): void {
    const at = this.#world.run.now - milliseconds;
    this.text = this.#before.findLast((each) => each.at <= at)?.text;
  }
}
