/**
 * What output has to look like: the lines a page shows, in which `…` stands for anything, also several lines.
 * Space at the ends of lines does not count, nor does how wide columns are. Pure.
 */
export function outputPattern(shown: readonly string[]): RegExp {
  const text = normalized(shown.join('\n'));
  const pattern = text
    .split('…')
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('[\\s\\S]*?');
  return new RegExp(`^${pattern}$`);
}

/** Output in the form that `outputPattern` matches. */
export function normalized(output: string): string {
  return output
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/ *\n/g, '\n')
    .trim();
}
