/** Of the session under test: few, so that they are reached. */
export const limits = { maxConcurrentStreams: 3, maxSessionRejectedStreams: 4 };
/** Larger than the windows that a client begins with; each byte tells its place. */
export const wholeAnswer = Buffer.from(Array.from({ length: 280_000 }, (_, index) => index % 251));
export const pieceLength = 40_000;
export const shortLength = 100;
/** More than one frame. */
export const longValue = 'x'.repeat(20_000);
