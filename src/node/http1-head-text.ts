const headEnd = '\r\n\r\n';
/** Bytes. Most heads are shorter: so much is looked through as the text that it has to become anyway, not by a call into Node. */
const usualHead = 1024;

/**
 * The head at the beginning of `bytes` as a byte string, without the empty line at its end; `undefined` when it is not
 * whole.
 * @param seen how many of the bytes are known not to hold the whole end.
 */
export function headText(bytes: Buffer, seen: number): string | undefined {
  if (seen === 0) {
    const text = bytes.toString('latin1', 0, Math.min(bytes.length, usualHead));
    const end = text.indexOf(headEnd);
    if (end !== -1) return text.slice(0, end);
  }
  const end = bytes.indexOf(headEnd, Math.max(0, seen - (headEnd.length - 1)));
  return end === -1 ? undefined : bytes.toString('latin1', 0, end);
}
