import { answerPanels } from './answer-panels.ts';
import { type PanelRow, quantile, rate, routers } from './panel.ts';

/** The dashboard from top to bottom: does it work, where do requests go, what is known, what is full. */
export const panelRows: readonly PanelRow[] = [
  {
    title: 'Requests',
    panels: [
      {
        title: 'Requests by code',
        description: 'Answers to clients. 503 are those that no destination could answer.',
        unit: 'reqps',
        queries: [
          {
            expression: `sum by (code) (${rate('mixed_version_proxy_requests_total')})`,
            legend: '{{code}}',
          },
        ],
      },
      {
        title: 'Rerouted requests',
        description:
          'Requests that the local server does not serve, by resource. None outside of an upgrade.',
        unit: 'reqps',
        queries: [
          {
            expression: `sum by (group, version, resource) (${rate('apiserver_rerouted_request_total')})`,
            legend: '{{group}}/{{version}} {{resource}}',
          },
        ],
      },
      {
        title: 'Rerouted requests that failed',
        description: 'Share of rerouted requests that ended in 503.',
        unit: 'percentunit',
        queries: [
          {
            expression: `sum(${rate('apiserver_rerouted_request_total', 'code="503"')}) / sum(${rate('apiserver_rerouted_request_total')})`,
            legend: '503',
          },
        ],
      },
      {
        title: 'Decisions',
        description: 'Where requests are sent and why.',
        unit: 'reqps',
        queries: [
          {
            expression: `sum by (decision, reason) (${rate('mixed_version_proxy_decisions_total')})`,
            legend: '{{decision}}: {{reason}}',
          },
        ],
      },
    ],
  },
  {
    title: 'Latency',
    panels: [
      {
        title: 'Request duration',
        description: 'From the head of a request to the end of its answer; watches and the like left out.',
        unit: 's',
        queries: ['0.5', '0.99'].map((share) => ({
          expression: quantile(share, 'mixed_version_proxy_request_duration_seconds'),
          legend: `quantile ${share}`,
        })),
      },
      {
        title: "The router's own share",
        description:
          'Until a request is handed to its first destination. Below a millisecond in good health.',
        unit: 's',
        queries: ['0.5', '0.99'].map((share) => ({
          expression: quantile(share, 'mixed_version_proxy_routing_duration_seconds'),
          legend: `quantile ${share}`,
        })),
      },
      {
        title: 'Answers of destinations, 99th percentile',
        description: 'From handing a request to a server to the head of its answer.',
        unit: 's',
        queries: [
          {
            expression: quantile(
              '0.99',
              'mixed_version_proxy_destination_response_duration_seconds',
              'le, destination',
            ),
            legend: '{{destination}}',
          },
        ],
      },
      {
        title: 'Event loop delay, 99th percentile',
        description: 'Above 0.1 s the process has too much to do for one core.',
        unit: 's',
        queries: [{ expression: `nodejs_eventloop_lag_p99_seconds{${routers}}`, legend: '{{instance}}' }],
      },
    ],
  },
  {
    title: 'API servers',
    panels: [
      {
        title: 'Unhealthy servers',
        description: 'By the opinion of each router.',
        unit: 'short',
        queries: [
          {
            expression: `sum by (destination) (mixed_version_proxy_destination_health{${routers},status="unhealthy"})`,
            legend: '{{destination}}',
          },
        ],
      },
      {
        title: 'Attempts without an answer',
        description: 'By server and error; ClientGone is no fault of the server.',
        unit: 'reqps',
        queries: [
          {
            expression: `sum by (destination, error) (${rate('mixed_version_proxy_destination_errors_total')})`,
            legend: '{{destination}}: {{error}}',
          },
        ],
      },
      {
        title: 'Requests in flight',
        description: 'At each server, long-running ones included.',
        unit: 'short',
        queries: [
          {
            expression: `sum by (destination) (mixed_version_proxy_destination_inflight_requests{${routers}})`,
            legend: '{{destination}}',
          },
        ],
      },
      {
        title: 'Second tries',
        description: 'Requests that a second server was asked for, and the least that any budget has left.',
        unit: 'short',
        queries: [
          {
            expression: `sum by (cause) (${rate('mixed_version_proxy_second_tries_total')})`,
            legend: 'second tries/s: {{cause}}',
          },
          { expression: `min(mixed_version_proxy_retry_budget{${routers}})`, legend: 'budget' },
        ],
      },
    ],
  },
  {
    title: 'Snapshot and files',
    panels: [
      {
        title: 'Generation',
        description: 'One line when all routers decide by the same snapshot.',
        unit: 'short',
        queries: [
          { expression: `mixed_version_proxy_snapshot_generation{${routers}}`, legend: '{{instance}}' },
        ],
      },
      {
        title: 'Remaining lifetime of the snapshot',
        description:
          'Between 150 and 300 s with the default lifetime; below 0 it is past its lifetime, and changes are missed.',
        unit: 's',
        queries: [
          {
            expression: `mixed_version_proxy_snapshot_remaining_lifetime_seconds{${routers}}`,
            legend: '{{instance}}',
          },
        ],
      },
      {
        title: 'Age of the last delivery',
        description: 'By target of the sync job. Renewals come every 150 s.',
        unit: 's',
        queries: [
          {
            expression:
              'time() - max by (target) (mixed_version_proxy_sync_last_successful_delivery_timestamp_seconds)',
            legend: '{{target}}',
          },
        ],
      },
      {
        title: 'Time until certificates end',
        description: 'The next one to end at each router.',
        unit: 's',
        queries: [
          {
            expression: `min by (instance) (mixed_version_proxy_certificate_expiration_timestamp_seconds{${routers}}) - time()`,
            legend: '{{instance}}',
          },
        ],
      },
    ],
  },
  answerPanels,
  {
    title: 'Saturation',
    panels: [
      {
        title: 'Requests being handled',
        description:
          'Against --max-requests-inflight, --max-mutating-requests-inflight, --max-long-running-requests.',
        unit: 'short',
        queries: [
          {
            expression: `sum by (instance, request_kind) (mixed_version_proxy_current_inflight_requests{${routers}})`,
            legend: '{{instance}}: {{request_kind}}',
          },
        ],
      },
      {
        title: 'Requests turned away',
        description: "For the router's own sake. Overloaded: its limits are reached.",
        unit: 'reqps',
        queries: [
          {
            expression: `sum by (reason) (${rate('mixed_version_proxy_dropped_requests_total')})`,
            legend: '{{reason}}',
          },
        ],
      },
      {
        title: 'CPU',
        description: 'In cores. A router uses little more than one.',
        unit: 'short',
        queries: [{ expression: rate('process_cpu_seconds_total'), legend: '{{instance}}' }],
      },
      {
        title: 'Memory',
        description: 'Resident. A watch costs 100 to 200 KiB.',
        unit: 'bytes',
        queries: [{ expression: `process_resident_memory_bytes{${routers}}`, legend: '{{instance}}' }],
      },
    ],
  },
];
