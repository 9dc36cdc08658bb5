/** Names as people count them: `node-2` before `node-10`. Not by `Intl`: to load its data takes longer than a GET. */
export function compareNames(left: string, right: string): number {
  const [one, other] = [countable(left), countable(right)];
  if (one !== other) return one < other ? -1 : 1;
  // Names that only differ in how they are written keep one order all the same.
  return left < right ? -1 : left > right ? 1 : 0;
}

function countable(name: string): string {
  return name.replaceAll(/\d+/g, (digits) => digits.padStart(20, '0'));
}
