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
