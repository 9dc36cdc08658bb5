interface Visit {
  readonly name: string;
  readonly number: number;
  /** The earliest definition, still open, that it leads back to. */
  lowest: number;
  readonly left: Iterator<string>;
}

/**
 * The definitions that the roots lead to, in groups: those of a group refer to each other in a circle, and most are alone
 * in theirs. A group comes after those that it refers to (R. E. Tarjan, "Depth-first search and linear graph
 * algorithms", 1972; with a stack of its own, so that a long chain does not use up the runtime's).
 *
 * @param references of each definition those that it refers to, all of them keys as well
 */
export function definitionGroups(
  references: ReadonlyMap<string, ReadonlySet<string>>,
  roots: readonly string[],
): readonly (readonly string[])[] {
  const groups: string[][] = [];
  const numbers = new Map<string, number>();
  /** Visited, and in no group yet. */
  const open: string[] = [];
  const isOpen = new Set<string>();

  function enter(name: string): Visit {
    const number = numbers.size;
    numbers.set(name, number);
    open.push(name);
    isOpen.add(name);
    return { name, number, lowest: number, left: (references.get(name) ?? new Set<string>()).values() };
  }

  function close({ name, number, lowest }: Visit): void {
    if (lowest < number) return;
    const group = open.splice(open.lastIndexOf(name));
    for (const member of group) isOpen.delete(member);
    groups.push(group);
  }

  for (const root of roots) {
    if (numbers.has(root)) continue;
    const way = [enter(root)];
    for (let visit = way.at(-1); visit !== undefined; visit = way.at(-1)) {
      const { value: next, done } = visit.left.next();
      if (done === true) {
        way.pop();
        close(visit);
        const from = way.at(-1);
        if (from !== undefined) from.lowest = Math.min(from.lowest, visit.lowest);
      } else if (!numbers.has(next)) way.push(enter(next));
      else if (isOpen.has(next)) visit.lowest = Math.min(visit.lowest, numbers.get(next) ?? visit.lowest);
    }
  }
  return groups;
}
