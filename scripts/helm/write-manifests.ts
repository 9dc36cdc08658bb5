import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { manifestsPath, manifestValues, renderChart } from './render-chart.ts';

const heading = `# What the chart in deploy/helm makes in kube-system with the Secret mixed-version-proxy-serving, which has to be there
# (docs/start/install-helm.md); written by scripts/helm/write-manifests.ts.
`;
writeFileSync(
  resolve(import.meta.dirname, '../..', manifestsPath),
  `${heading}${renderChart(manifestValues)}`,
);
console.log(`wrote ${manifestsPath}`);
