/** Lets everything that waits have its turn: work that takes tens of milliseconds must not hold up requests. */
export function pause(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 0);
  });
}

/** How long snapshot work may hold the event loop at a time, milliseconds: requests and watches go on in between. */
const sliceMilliseconds = 4;

/** Work that is done in slices. */
export interface TimeSlice {
  /** To be awaited between pieces of work of a millisecond or less; lets others run when the slice is used up. */
  rest(): Promise<void> | undefined;
}

/**
 * Begins to measure now. Short work never rests: a small snapshot is read in one go. On runtimes whose clock stands
 * still while code runs (Workers, against timing attacks) it never rests either; nothing else runs there in between.
 */
export function createTimeSlice(): TimeSlice {
  let begun = performance.now();
  return {
    rest() {
      if (performance.now() - begun < sliceMilliseconds) return undefined;
      return pause().then(() => {
        begun = performance.now();
      });
    },
  };
}
