// Helm: a chart that is installed, upgraded and removed again and again. Arguments as those of the Go program, and `--helm`.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { newWork, untilSignal } from './work.ts';

const { values } = parseArgs({
  options: {
    kubeconfig: { type: 'string', default: '' },
    namespace: { type: 'string', default: 'default' },
    helm: { type: 'string', default: 'helm' },
  },
});
const run = promisify(execFile);
const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-helm-'));
const chart = join(directory, 'chart');
await mkdir(join(chart, 'templates'), { recursive: true });
await writeFile(join(chart, 'Chart.yaml'), 'apiVersion: v2\nname: live\nversion: 0.1.0\n');
await writeFile(
  join(chart, 'templates', 'all.yaml'),
  `apiVersion: v1
kind: ConfigMap
metadata: { name: "{{ .Release.Name }}" }
data: { number: "{{ .Values.number }}" }
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: { name: "{{ .Release.Name }}" }
spec:
  maxReplicas: 3
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: web }
`,
);
const signal = untilSignal();
const work = newWork();
const helm = (...args: string[]) =>
  run(values.helm, [...args, '--kubeconfig', values.kubeconfig, '--namespace', values.namespace], {
    env: {
      ...process.env,
      HELM_CACHE_HOME: directory,
      HELM_CONFIG_HOME: directory,
      HELM_DATA_HOME: directory,
    },
  });
console.log('ready');
for (let number = 0; !signal.isOver(); number++) {
  const release = `live-${number}`;
  if (!(await work.count(() => helm('install', release, chart, '--set', 'number=1')))) continue;
  await work.count(() => helm('upgrade', release, chart, '--set', 'number=2'));
  await work.count(() => helm('uninstall', release));
}
console.log(JSON.stringify({ releases: work.work }));
await rm(directory, { recursive: true, force: true });
