/**
 * The same text in memory of its own. V8 makes a part of a string (`slice`, `split`) a view of 13 characters or more on all of
 * it (src/objects/string.h, SlicedString): what is kept of a client's long line would keep the line.
 */
export function ownCopy(part: string): string {
  return part.split('').join('');
}
