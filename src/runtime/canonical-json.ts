/**
 * Canonical JSON of a JSON value: keys sorted by UTF-16 code units, no whitespace, members that are
 * `undefined` left out. Numbers and strings as `JSON.stringify` writes them, which is what RFC 8785 asks for.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map((item: unknown) => canonicalJson(item ?? null)).join(',')}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const members: string[] = [];
    for (const [key, member] of sortedMembers(value)) {
      members.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
    }
    return `{${members.join(',')}}`;
  }
  return JSON.stringify(value ?? null);
}

function sortedMembers(value: object): [string, unknown][] {
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  // Not localeCompare: the order must be the same on every machine.
  return members.sort(([left], [right]) => (left < right ? -1 : 1));
}
