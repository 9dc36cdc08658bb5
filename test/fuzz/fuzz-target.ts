import { fuzzWith } from '../../packages/http2/test/fuzz/fuzz-target.ts';

/** For targets of the router. */
export const fuzz = fuzzWith(new URL('./corpus/', import.meta.url));
