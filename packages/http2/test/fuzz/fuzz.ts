import { fuzzWith } from './fuzz-target.ts';

/** For targets of the package. */
export const fuzz = fuzzWith(new URL('./corpus/', import.meta.url));
