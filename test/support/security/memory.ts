import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
/** Collects all of the heap; what is alive becomes old. */
export const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes that the process holds on to: JavaScript's heap and what native code allocated for it. */
export function heldMemory(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Bytes of old objects, dead ones included, which only a collection of all of the heap clears away. */
export function oldSpace(): number {
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space');
  if (space === undefined) throw new Error('this V8 has no old_space');
  return space.space_used_size;
}

/**
 * `heldMemory` once what is on its way out has gone: sockets that are closing, and what is still being written to them,
 * give their memory back some 100 ms after whoever ended them.
 *
 * @throws when it has not come to rest within ten seconds
 */
export async function settledMemory(): Promise<number> {
  const samplesAtRest = 5;
  const atRest = 256 * 1024;
  const samples: number[] = [];
  for (let sample = 0; sample < 200; sample++) {
    samples.push(heldMemory());
    const latest = samples.slice(-samplesAtRest);
    if (latest.length === samplesAtRest && Math.max(...latest) - Math.min(...latest) < atRest)
      return Math.min(...latest);
    await sleep(50);
  }
  throw new Error(`memory never came to rest: ${samples.slice(-samplesAtRest).map(inMegabytes).join(', ')}`);
}

export function inMegabytes(bytes: number): string {
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
