const decimalInteger = /^[+-]?[0-9]+$/;

/** Whether Go's `strconv.ParseInt(text, 10, 64)` takes it: a sign or none, decimal digits, within 64 bits. */
export function isInt64(text: string): boolean {
  if (!decimalInteger.test(text)) return false;
  // 18 characters cannot overflow; the rest is rare enough for BigInt.
  if (text.length <= 18) return true;
  const magnitude = BigInt(text.replace(/^[+-]/, ''));
  return magnitude <= (text.startsWith('-') ? 2n ** 63n : 2n ** 63n - 1n);
}
