import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { manifestsPath, renderChart } from './render-chart.ts';

const heading = `# What the chart in deploy/helm makes with its default values, in kube-system; written by
# scripts/helm/write-manifests.ts. docs/start/install-helm.md names the Secrets and ConfigMaps that have to be there.
`;
writeFileSync(resolve(import.meta.dirname, '../..', manifestsPath), `${heading}${renderChart()}`);
console.log(`wrote ${manifestsPath}`);
