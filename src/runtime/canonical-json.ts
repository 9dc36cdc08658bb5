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

/** Members in any order, one that is `undefined` as good as none. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((item: unknown, index) => isSameJson(item, other[index]));
  }
  return hasMembersOf(one, other) && hasMembersOf(other, one);
}

function hasMembersOf(one: object, other: object): boolean {
  const members = other as Readonly<Record<string, unknown>>;
  return Object.entries(one).every(([name, member]: [string, unknown]) =>
    isSameJson(member, Object.hasOwn(members, name) ? members[name] : undefined),
  );
}
