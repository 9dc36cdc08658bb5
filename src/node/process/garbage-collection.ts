import { setFlagsFromString } from 'node:v8';

/**
 * Sets V8's garbage collector to what a router needs. For a process that does nothing but serve, once, at its start: it
 * concerns all of its code. What each setting is worth: bench/README.md.
 */
export function setGarbageCollectorForServing(): void {
  // Keeps V8 from creating objects of requests among the old ones. It does so with those that have outlived a collection
  // or two (allocation-site pretenuring), as the listeners of a stream under load: dead, they keep everything of their
  // request alive until all of the heap is collected, for the collector of young objects takes whatever an old one
  // refers to for alive.
  setFlagsFromString('--no-allocation-site-pretenuring');
  // Keeps V8 from collecting all of the heap to give memory back whenever there was little to do for eight seconds. A
  // cluster's API traffic comes in bursts, and the one after such a rest paid for it: V8's helpers took up to a third
  // of the CPU for one to three seconds, and a request cost up to twice as much. What a burst has left behind is given
  // back once requests have allocated enough for a collection. (`--no-memory-reducer` is read before any code of ours
  // runs.)
  setFlagsFromString('--memory-reducer-gc-count=0');
}
