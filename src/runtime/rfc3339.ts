// RFC 3339 section 5.6 date-time. Leap seconds (`:60`) are left out: neither Go's time.RFC3339 nor
// ECMAScript can read them back.
const dateTime =
  /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Milliseconds since the epoch of an RFC 3339 time, or `undefined` when `text` is none. */
export function parseRfc3339(text: string): number | undefined {
  const match = dateTime.exec(text);
  if (match === null) return undefined;
  const [, year, month, day] = match;
  // Date.parse reads 30 February as 2 March; such a day does not come back from its own date.
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  if (Number.isNaN(date.getTime()) || date.getUTCDate() !== Number(day)) return undefined;
  const milliseconds = Date.parse(text);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}
