/** Functions that the program is not to see while a run is on, as they were when this module was loaded. */
export const realSetImmediate = globalThis.setImmediate;
export const realSetTimeout = globalThis.setTimeout;
export const realSetInterval = globalThis.setInterval;
export const realClearTimeout = globalThis.clearTimeout;
export const realClearInterval = globalThis.clearInterval;
export const realClearImmediate = globalThis.clearImmediate;
export const RealDate = globalThis.Date;
export const realDateNow = Date.now;
export const realMonotonic = performance.now.bind(performance);
export const realRandom = Math.random;
export const realAbortTimeout = AbortSignal.timeout;
export const realSubtle = crypto.subtle;
export const realGetRandomValues = crypto.getRandomValues.bind(crypto);
export const realRandomUuid = crypto.randomUUID.bind(crypto);
export const RealCompressionStream = globalThis.CompressionStream;
