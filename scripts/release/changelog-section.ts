/**
 * Text of CHANGELOG.md on a version, without its heading. Pure.
 * @returns `undefined` when it says nothing of it
 */
export function changelogSection(changelog: string, version: string): string | undefined {
  const lines = changelog.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`## [${version}]`));
  if (start === -1) return undefined;
  const length = lines.slice(start + 1).findIndex((line) => /^## |^\[[^\]]+\]: /.test(line));
  const section = lines
    .slice(start + 1, length === -1 ? undefined : start + 1 + length)
    .join('\n')
    .trim();
  return section === '' ? undefined : section;
}
