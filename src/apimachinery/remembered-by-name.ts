/** Names kept at a time, and the length of the longest that is: a client's own inventions must not fill the memory. */
const maximumNames = 512;
const maximumLength = 64;

/**
 * Keeps what a pure function says of header names: judging one anew costs ten times as much as finding it here.
 * @param judge its result depends on the name alone and is not `undefined`.
 */
export function rememberingNames<Verdict extends string | boolean>(
  judge: (name: string) => Verdict,
): (name: string) => Verdict {
  const known = new Map<string, Verdict>();
  return (name) => {
    const verdict = known.get(name);
    if (verdict !== undefined) return verdict;
    const judged = judge(name);
    if (name.length <= maximumLength) {
      if (known.size >= maximumNames) known.clear();
      known.set(name, judged);
    }
    return judged;
  };
}
