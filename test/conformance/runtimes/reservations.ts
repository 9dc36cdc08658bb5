import type { Reservation } from '../runtime.ts';

/** What a runtime cannot do. */
export const notPossible = (because: string): Reservation => ({ kind: 'not possible', because });

/** What there is nothing of on a runtime. */
export const doesNotApply = (because: string): Reservation => ({ kind: 'does not apply', because });

/** Reasons that several runtimes share. */

export const urlParsed: Reservation = doesNotApply(
  'The runtime hands over a URL whose parser has resolved dot segments and percent-encoded what it must: that path is what is decided on and forwarded.',
);

export const onlyHttp2: Reservation = doesNotApply(
  'These cases are written in HTTP/1.1. What HTTP/2 has in their place (`100` in front of a response, connection headers and raw frames that it forbids) is tried in `test/security/http2-downgrade.test.ts` and `src/http2/server/*.test.ts`.',
);

export const onlyHttp1: Reservation = doesNotApply('This column is HTTP/1.1.');

export const spdyIsTunnelled: Reservation = doesNotApply('SPDY is tunnelled here.');

/** At the edge. */
export const nobodyAsserts: Reservation = doesNotApply(
  'An edge router asserts, and nobody asserts to it: callers are known by certificates and tokens.',
);

/** On Node. */
export const tokensPassThrough: Reservation = doesNotApply(
  'Tokens pass through: the API server verifies them.',
);

const noticedWhenWriting: Reservation = notPossible(
  'workerd notices that a connection was closed when it writes to it: the request to the server ends with the next event, or with the response.',
);

/** Cases about clients that leave while nothing is being written to them. */
export const unnoticedDepartures: Readonly<Record<string, Reservation>> = {
  'streaming/client-leaves': noticedWhenWriting,
  'streaming/client-leaves-early': noticedWhenWriting,
};
