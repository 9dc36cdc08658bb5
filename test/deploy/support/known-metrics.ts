import { metricCatalogue } from '../../../src/node/metrics/catalogue.ts';
import { createSyncMetrics } from '../../../src/sync/node/process-endpoints.ts';

/** Labels that Prometheus itself puts to what it scrapes. */
const scrapeLabels = ['job', 'instance'];

/**
 * Labels by name of a series, of everything that routers and sync jobs expose: the router's from its catalogue, the
 * sync job's from what it answers when every kind of thing has happened once.
 */
export async function knownMetrics(): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const known = new Map<string, Set<string>>([['up', new Set(scrapeLabels)]]);
  for (const { metrics } of metricCatalogue) {
    for (const { name, type, labels } of metrics) {
      if (type === 'histogram') known.set(`${name}_bucket`, new Set([...labels, ...scrapeLabels, 'le']));
      else known.set(name, new Set([...labels, ...scrapeLabels]));
    }
  }
  for (const line of (await syncMetricsText()).split('\n')) {
    const [, name = '', labels = ''] = /^(mixed_version_proxy_sync_\w+)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === '') continue;
    const names = [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label);
    known.set(name, new Set([...names, ...scrapeLabels]));
  }
  return known;
}

async function syncMetricsText(): Promise<string> {
  const metrics = createSyncMetrics();
  metrics.serverRead({ seconds: 1, result: 'success' });
  metrics.delivered({ target: 'router', seconds: 1, result: 'accepted' });
  return metrics.text({
    generation: 1,
    lastRoundAt: 1,
    lastReadAt: 1,
    servers: [],
    warnings: [],
    targets: [{ target: 'router', heldGeneration: 1, lastResult: undefined, failures: 0, lastAcceptedAt: 1 }],
  });
}
