/** Limits on what is kept: names that a client invents must not fill the memory. */
const maximumNames = 512;
const maximumLength = 64;

/**
 * Memoizes a pure function of a header name. Clients send the same few names with every request, and computing a result
 * costs ten times as much as finding it here.
 */
export function memoizeByName<Result extends string | boolean>(
  compute: (name: string) => Result,
): (name: string) => Result {
  const known = new Map<string, Result>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const result = compute(name);
    if (name.length <= maximumLength) {
      // Names in use are added again at once.
      if (known.size >= maximumNames) known.clear();
      known.set(name, result);
    }
    return result;
  };
}
