/**
 * Makes `current` equal to `next` by as few changes as it takes, so that focus, selection, scroll positions and what
 * the reader has unfolded stay as they are. Children are matched by `id` or `data-key` where they have one, else by
 * their place.
 */
export function morph(current: Element, next: Element): void {
  if (next.hasAttribute('data-unchanged')) return;
  // The text of a `<time>` is the clock's (times.ts).
  if (next.localName === 'time' && next.getAttribute('datetime') === current.getAttribute('datetime')) return;
  morphAttributes(current, next);
  morphChildren(current, next);
}

function morphAttributes(current: Element, next: Element): void {
  for (const { name } of [...current.attributes]) {
    if (!next.hasAttribute(name) && !isReaders(current, name)) current.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (current.getAttribute(name) !== value && !isReaders(current, name)) current.setAttribute(name, value);
  }
}

/** True of the attribute by which a reader unfolds or folds: the reader's choice stays. */
function isReaders(element: Element, attribute: string): boolean {
  return element.localName === 'details' && attribute === 'open';
}

function morphChildren(current: Element, next: Element): void {
  const keyed = new Map<string, Element>();
  for (const child of current.children) {
    const key = keyOf(child);
    if (key !== undefined) keyed.set(key, child);
  }
  let place = current.firstChild;
  for (const wanted of [...next.childNodes]) {
    const key = keyOf(wanted);
    const found = key === undefined ? place : keyed.get(key);
    if (found instanceof Element && wanted instanceof Element && isSameKind(found, wanted)) {
      if (found === place) place = found.nextSibling;
      else current.insertBefore(found, place);
      morph(found, wanted);
    } else if (found instanceof Text && wanted instanceof Text && found === place) {
      if (found.data !== wanted.data) found.data = wanted.data;
      place = found.nextSibling;
    } else {
      current.insertBefore(document.adoptNode(wanted), place);
    }
  }
  while (place !== null) {
    const { nextSibling } = place;
    place.remove();
    place = nextSibling;
  }
}

function isSameKind(one: Element, other: Element): boolean {
  return one.nodeName === other.nodeName && keyOf(one) === keyOf(other);
}

function keyOf(node: Node): string | undefined {
  if (!(node instanceof Element)) return undefined;
  return node.id || (node.getAttribute('data-key') ?? undefined);
}
