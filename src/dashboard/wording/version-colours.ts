import { compareServerVersions } from '../../apimachinery/server-version.ts';

/** Shades of one colour, from faint to strong, and colours for more versions than there are shades (status-page.css). */
const shades = 5;
const colours = 12;

/** The class by which a version is coloured, everywhere on the page. */
export type VersionColours = (version: string | null | undefined) => string;

/**
 * The newest has the strongest shade. More versions than shades have colours, which neighbours never share. One that is
 * not known has the faintest of all. Pure.
 */
export function versionColours(versions: Iterable<string | null | undefined>): VersionColours {
  const known = [...new Set(versions)]
    .filter((version) => typeof version === 'string')
    .sort(compareServerVersions);
  const classes = new Map(known.map((version, index) => [version, classOf(index, known.length)]));
  return (version) => classes.get(version ?? '') ?? 'no-version';
}

function classOf(index: number, versions: number): string {
  return versions > shades ? `hue hue-${index % colours}` : `shade-${shades - versions + index}`;
}
