const decimalInteger = /^[+-]?[0-9]+$/;
// 2^63 - 1 and, after a minus sign, 2^63.
const largestMagnitude = '9223372036854775807';
const largestNegativeMagnitude = '9223372036854775808';

/** Whether Go's `strconv.ParseInt(text, 10, 64)` takes it: a sign or none, decimal digits, within 64 bits. */
export function isInt64(text: string): boolean {
  if (!decimalInteger.test(text)) return false;
  const magnitude = text.replace(/^[+-]?0*/, '');
  const limit = text.startsWith('-') ? largestNegativeMagnitude : largestMagnitude;
  if (magnitude.length !== limit.length) return magnitude.length < limit.length;
  // Digits of equal number compare as text.
  return magnitude <= limit;
}
