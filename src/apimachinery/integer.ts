/** True if Go's `strconv.ParseInt(text, 10, 64)` takes the text: a sign or none, decimal digits, within 64 bits. */
export function isInt64(text: string): boolean {
  const [, sign, digits] = /^([+-]?)0*(\d{1,19})$/.exec(text) ?? [];
  return digits !== undefined && BigInt(digits) < 2n ** 63n + (sign === '-' ? 1n : 0n);
}
