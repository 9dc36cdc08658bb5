import { setFlagsFromString } from 'node:v8';
import { usableMemory } from '../exchange/serving-limits.ts';

/**
 * Sets V8's garbage collector to what a router needs. For a process that does nothing but serve, once, at its start: it
 * concerns all of its code. What each setting is worth: lab/bench/README.md.
 */
export function setGarbageCollectorForServing(): void {
  // V8 would create listeners of streams, and the like, among old objects (allocation-site pretenuring): dead, they keep
  // everything of their request alive until all of the heap is collected.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // V8 would collect all of the heap after eight seconds with little to do, and the next burst of requests paid for that.
  // (`--no-memory-reducer` is read before any code of ours runs.)
  setFlagsFromString('--memory-reducer-gc-count=0');
}

/** Milliseconds between two looks at the memory that is taken. */
const lookInterval = 5_000;
/** Looks left out after a call that stopped the event loop for little: a minute passes until the next one. */
const restingLooks = 11;
/** Milliseconds that nothing else may stop the event loop for. */
const longStop = 10;

/**
 * Has the C library give back what closed connections have freed, while more than half of the memory that the process may
 * use is taken. glibc would keep it, pages and all, for whatever comes: with what TLS had for 2,000 port-forwards and an
 * attack, a second attack ended a router of 512 MiB (lab/bench/results/floods.md).
 *
 * Where nothing was freed a call takes 0.1 to 3 ms, and where 300 MiB were, 50. One that takes long and gives back less than
 * a thirty-second of the memory is not repeated for a minute: a process may well need more than half.
 * @returns stops it
 */
export function giveBackFreedMemory(
  load: typeof freedMemoryGiver = freedMemoryGiver,
  taken: () => number = process.memoryUsage.rss,
): () => void {
  let giver: ReturnType<typeof freedMemoryGiver> | undefined;
  let resting = 0;
  const look = async (): Promise<void> => {
    if (resting > 0) {
      resting -= 1;
      return;
    }
    if (taken() <= usableMemory / 2) return;
    giver ??= load();
    const give = await giver;
    if (give === undefined) return;
    const [before, start] = [taken(), performance.now()];
    give();
    const isLong = performance.now() - start > longStop;
    if (isLong && before - taken() < usableMemory / 32) resting = restingLooks;
  };
  const timer = setInterval(() => void look(), lookInterval).unref();
  return () => clearInterval(timer);
}

/** malloc_trim(3) of glibc. Undefined with another C library, and where Node has no `node:ffi`, which is experimental. */
export async function freedMemoryGiver(): Promise<(() => void) | undefined> {
  try {
    const { dlopen } = await import('node:ffi');
    const { functions } = dlopen('libc.so.6', { malloc_trim: { arguments: ['u64'], return: 'i32' } });
    return () => void functions.malloc_trim(0n);
  } catch {
    return undefined;
  }
}
