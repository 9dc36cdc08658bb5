import { type PanelRow, rate } from './panel.ts';

/** What clients are answered with: how much, and how much of it had to be made. */
export const answerPanels: PanelRow = {
  title: 'Answers',
  panels: [
    {
      title: 'Bytes answered, by resource',
      description: 'Bodies that destinations answered with, as they were passed on; watches included.',
      unit: 'binBps',
      queries: [
        {
          expression: `sum by (group, version, resource) (${rate('mixed_version_proxy_response_bytes_total')})`,
          legend: '{{group}}/{{version}} {{resource}}',
        },
      ],
    },
    {
      title: 'Bytes answered, by verb',
      description: 'Lists that grow are seen here before they are seen in memory.',
      unit: 'binBps',
      queries: [
        {
          expression: `sum by (verb) (${rate('mixed_version_proxy_response_bytes_total')})`,
          legend: '{{verb}}',
        },
      ],
    },
    {
      title: 'Discovery that had to be merged',
      description:
        'Share of requests for aggregated discovery. A moment behind each new snapshot, else none.',
      unit: 'percentunit',
      queries: [
        {
          expression: `sum(${rate('aggregator_discovery_peer_aggregated_cache_misses_total')}) / (sum(${rate('aggregator_discovery_peer_aggregated_cache_misses_total')}) + sum(${rate('aggregator_discovery_peer_aggregated_cache_hits_total')}))`,
          legend: 'merged for a request',
        },
      ],
    },
    {
      title: 'Local views asked for',
      description:
        'Discovery of one server alone (profile=nopeer), as sync jobs and other API servers read it.',
      unit: 'reqps',
      queries: [
        { expression: `sum(${rate('aggregator_discovery_nopeer_requests_total')})`, legend: 'nopeer' },
      ],
    },
  ],
};
