/**
 * Commands of the workflows that take a registry, or another service, and what only they can show. No test runs them: the
 * workflows are run with doubles in their place (test/deploy/workflow-runs.slow.test.ts), and `release:check` says so.
 */
export const registryCommands: Readonly<Record<string, string>> = {
  curl: 'dl.k8s.io still has each kubectl that the tests ask for',
  'npm ci': 'npm still has every package of package-lock.json, under its hash',
  'npm publish':
    'the name is yours on npm, release.yaml is its trusted publisher, and the provenance is taken',
  'docker login': 'ghcr.io takes the token of the workflow',
  'docker buildx create': 'a builder can be had',
  'docker buildx build':
    'both base images of deploy/docker/Dockerfile are there for amd64 and arm64, and the image is built on them, pushed, and attested',
  'docker buildx imagetools inspect': 'the pushed image has an SBOM for each architecture',
  'helm registry login': 'ghcr.io takes the token of the workflow for charts',
  'helm push': 'the chart is taken under that name and version',
  'gh release create': 'the tag is there, and the environment lets the workflow make a release',
};

/** The command among them that this line is; `undefined`: it needs no registry. */
export function registryCommandOf(line: string): string | undefined {
  return Object.keys(registryCommands).find((command) => line === command || line.startsWith(`${command} `));
}
