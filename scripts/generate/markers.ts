/**
 * Replaces what stands between `<!-- name: begin -->` and `<!-- name: end -->` in a page.
 * @throws when the page has no such place.
 */
export function replaceBetweenMarkers(page: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const start = page.indexOf(begin);
  const stop = page.indexOf(end);
  if (start < 0 || stop < start) throw new Error(`The page has no place between ${begin} and ${end}.`);
  return `${page.slice(0, start + begin.length)}\n${content.trim()}\n${page.slice(stop)}`;
}
