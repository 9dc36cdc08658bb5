import { changelogSection } from './changelog-section.ts';

/** Where versions stand: what finds them in the file, the version as first group. */
export const versionPlaces: Readonly<Record<string, RegExp>> = {
  'package.json': /^ {2}"version": "([^"]+)"/gm,
  'demo/package.json': /^ {2}"version": "([^"]+)"/gm,
  'packages/http2/package.json': /^ {2}"version": "([^"]+)"/gm,
  'deploy/helm/mixed-version-proxy/Chart.yaml': /^(?:version|appVersion): (.+)$/gm,
  'deploy/helm/mixed-version-proxy/values.yaml': /^ {2}tag: (.+)$/gm,
  'deploy/docker/Dockerfile': /image\.version="([^"]+)"/g,
  'deploy/kubernetes/mixed-version-proxy.yaml': /image: mixed-version-proxy:(\S+)/g,
  'deploy/static-pod/mixed-version-proxy.yaml': /image: mixed-version-proxy:(\S+)/g,
  'deploy/sync/deployment.yaml': /image: mixed-version-proxy:(\S+)/g,
};

/** Placeholders that only the people who publish can fill in: by file the placeholder, and what belongs in its place. */
export const placeholders: Readonly<Record<string, readonly [placeholder: string, instead: string]>> = {
  '.github/CODEOWNERS': ['@mixed-version-proxy/', 'the teams that review'],
  'SECURITY.md': ['Address: none yet', 'the address at which holes are reported'],
};

/** Semantic Versioning 2.0.0, without build metadata, which a tag of an image cannot have. */
const versionPattern = /^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/;

/** The version that a tag names. Pure. */
export function versionOf(tag: string): string | undefined {
  return versionPattern.exec(tag)?.[1];
}

/**
 * Faults that keep a tag from being released. Pure.
 * @param read the text of a file, from the root of the repository
 */
export function releaseFaults(tag: string, read: (path: string) => string): string[] {
  const version = versionOf(tag);
  if (version === undefined) return [`${tag} is no tag such as v1.2.3 or v1.2.3-rc.1`];
  const faults = Object.entries(versionPlaces).flatMap(([path, pattern]) => {
    const found = [...read(path).matchAll(pattern)].map(([, one = '']) => one);
    if (found.length === 0) return [`${path}: no version found`];
    return found.filter((one) => one !== version).map((one) => `${path}: version ${one}, not ${version}`);
  });
  for (const [path, [placeholder, instead]] of Object.entries(placeholders)) {
    if (read(path).includes(placeholder)) faults.push(`${path}: has "${placeholder}" in place of ${instead}`);
  }
  if (changelogSection(read('CHANGELOG.md'), version) === undefined) {
    faults.push(
      `CHANGELOG.md: says nothing of ${version}: give what is unreleased the heading "## [${version}] - <date>"`,
    );
  }
  return faults;
}
