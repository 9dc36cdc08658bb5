/**
 * One order for the names of several lists. Deterministic; the first list keeps its order whole.
 *
 * A name that the first list lacks goes in after the neighbour it follows in its own list. Where names
 * already stand there that its list does not know, it goes among them by name. Groups come ordered by
 * priority, resources by name; both survive, which a plain sort would not let groups do.
 *
 * @param lists the leading list first; later ones in the order of their weight
 * @returns every name once
 */
export function consensusOrder(lists: readonly (readonly string[])[]): string[] {
  const [leading = [], ...others] = lists;
  const placed = new Set(leading);
  const order = [...placed];
  for (const list of others) {
    let known: ReadonlySet<string> | undefined;
    let previous: string | undefined;
    for (const name of list) {
      if (!placed.has(name)) {
        known ??= new Set(list);
        order.splice(placeFor(name, previous, order, known), 0, name);
        placed.add(name);
      }
      previous = name;
    }
  }
  return order;
}

function placeFor(
  name: string,
  previous: string | undefined,
  order: readonly string[],
  known: ReadonlySet<string>,
): number {
  let place = previous === undefined ? 0 : order.indexOf(previous) + 1;
  for (; place < order.length; place++) {
    const next = order[place];
    if (next === undefined || known.has(next) || next > name) break;
  }
  return place;
}
