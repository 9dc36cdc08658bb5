let text = '';
let second = -1;

/** The time now as an HTTP-date (RFC 9110 section 5.6.7), which has seconds: made once in each. */
export function httpDate(): string {
  const now = Date.now();
  const current = Math.floor(now / 1_000);
  if (current !== second) {
    second = current;
    text = new Date(now).toUTCString();
  }
  return text;
}
