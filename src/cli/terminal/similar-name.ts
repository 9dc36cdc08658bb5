/** The name that `given` was most likely meant to be; `undefined` where none is close. */
export function similarName(given: string, names: readonly string[]): string | undefined {
  // More than three edits, or 60 % of the name, is another name.
  const isClose = (edits: number, name: string) =>
    edits <= 3 && edits < 0.6 * Math.max(given.length, name.length);
  let best: { readonly name: string; readonly edits: number } | undefined;
  for (const name of names) {
    const edits = editDistance(given.toLowerCase(), name.toLowerCase());
    if (isClose(edits, name) && (best === undefined || edits < best.edits)) best = { name, edits };
  }
  return best?.name;
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(left: string, right: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const isSame = left[row - 1] === right[column - 1];
      const isSwap = row > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current.push(
        Math.min(
          (last[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (last[column - 1] ?? 0) + (isSame ? 0 : 1),
          isSwap ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[right.length] ?? 0;
}
