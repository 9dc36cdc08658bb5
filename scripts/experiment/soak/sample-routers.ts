import { readFile } from 'node:fs/promises';
import { getText } from '../../harness/get-text.ts';
import { parseStatus, socketsOf } from '../../harness/process-usage.ts';
import type { ExperimentCluster } from '../cluster/experiment-cluster.ts';
import { liveHeap } from './live-heap.ts';
import type { Sample } from './soak-results.ts';

const mebibyte = 2 ** 20;

/** Adds up what the routers use now. */
export async function sampleRouters({ routers, access }: ExperimentCluster): Promise<Omit<Sample, 'at'>> {
  let sum = { resident: 0, heap: 0, sockets: 0, generation: 0 };
  for (const { pid, url, logFile } of routers) {
    if (pid === undefined) continue;
    const heap = await liveHeap(logFile);
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    const { text: metrics } = await getText(`${url}/.mixed-version-proxy/metrics`, access.tls);
    sum = {
      resident: sum.resident + parseStatus(status).resident / 1024,
      heap: sum.heap + heap / mebibyte,
      sockets: sum.sockets + (await socketsOf(pid)),
      generation: Math.max(sum.generation, metricValue(metrics, 'mixed_version_proxy_snapshot_generation')),
    };
  }
  return { ...sum, resident: tenths(sum.resident), heap: tenths(sum.heap) };
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

/** @throws when there is no such metric */
function metricValue(metrics: string, name: string): number {
  const value = new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'm').exec(metrics)?.[1];
  if (value === undefined) throw new Error(`the router has no metric ${name}`);
  return Number(value);
}
