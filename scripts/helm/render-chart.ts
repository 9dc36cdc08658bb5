import { execFileSync, spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
/** From the root of the repository. */
export const chartPath = 'deploy/helm/mixed-version-proxy';
/** Manifests that the chart makes with its default values, for those who have no Helm. From the root of the repository. */
export const manifestsPath = 'deploy/kubernetes/mixed-version-proxy.yaml';

/** `TEST_ASSET_HELM`, else `helm` on PATH. */
export const helm = process.env['TEST_ASSET_HELM'] ?? 'helm';
/** Values of the plain manifests: nobody renders a certificate for them. */
export const manifestValues = ['gateway.servingSecret=mixed-version-proxy-serving'];

/** Labels by which Helm knows what it manages: kubectl applies the plain manifests. */
const labelsOfHelm = /^ +(?:helm\.sh\/chart|app\.kubernetes\.io\/managed-by): .*\n/gm;

/** The text of the plain manifests. */
export function manifestsText(): string {
  return `# What the chart in deploy/helm makes in kube-system with the Secret mixed-version-proxy-serving, which has to be there
# (docs/start/install-helm.md); written by \`npm run generate\`.
${renderChart(manifestValues).replaceAll(labelsOfHelm, '')}`;
}

/** Tells if there is a `helm`. */
export function hasHelm(): boolean {
  return spawnSync(helm, ['version']).error === undefined;
}

/**
 * The chart as a release, without a cluster. @param values of `helm --set`
 * @param structured of `helm --set-json`, by path
 * @throws Error with what helm says
 */
export function renderChart(
  values: readonly string[] = [],
  structured: Readonly<Record<string, unknown>> = {},
  release = 'mixed-version-proxy',
  namespace = 'kube-system',
): string {
  const settings = [
    '--set-json',
    'image.repository="mixed-version-proxy"',
    ...values.flatMap((value) => ['--set', value]),
    ...Object.entries(structured).flatMap(([path, value]) => [
      '--set-json',
      `${path}=${JSON.stringify(value)}`,
    ]),
  ];
  // A helm that was built from source takes itself for one of Kubernetes 1.20.
  const cluster = ['--namespace', namespace, '--kube-version', '1.36.0'];
  return execFileSync(helm, ['template', release, chartPath, ...cluster, ...settings], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
