import type { Reservation } from '../runtime.ts';

/** Reservation for a case that a runtime cannot do. */
export const notPossible = (because: string): Reservation => ({ kind: 'not possible', because });

/** Reservation for a case that does not concern a runtime. */
export const doesNotApply = (because: string): Reservation => ({ kind: 'does not apply', because });

/** Reasons that several runtimes share. */

export const urlParsed: Reservation = notPossible(
  'A URL parser stands before the router, or in `fetch`: what it percent-encodes is decided on, signed and forwarded in that spelling, and fragments are gone.',
);

export const dotSegmentsResolved: Reservation = notPossible(
  'The runtime’s URL parser resolves dot segments before the router sees them: what is left is decided on and forwarded.',
);

export const noContentOfReads: Reservation = notPossible(
  '`fetch` sends no content with GET or HEAD: refused with a 400 Status.',
);

export const onlyHttp2: Reservation = doesNotApply(
  'These cases are written in HTTP/1.1. What HTTP/2 has in their place (connection headers and raw frames that it forbids) is tried in `test/security/http2-downgrade.test.ts` and `packages/http2/server/*.test.ts`.',
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
