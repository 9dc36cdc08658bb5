import type { MetricDefinition } from './metric-family.ts';
import { requestBuckets } from './request-catalogue.ts';

/** `destination` is the ID in the snapshot, `kind` is local, peer or extension. A destination that leaves loses its series. */
const destinationLabels = ['destination', 'kind'] as const;

/** Milliseconds to seconds, doubling, as k3s' load balancer measures dials. */
const connectBuckets = [
  0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384,
];

/** Metrics of the servers that requests are sent to. */
export const destinationCatalogue = {
  destinationRequests: {
    name: 'mixed_version_proxy_destination_requests_total',
    type: 'counter',
    stability: 'ALPHA',
    help: "Responses of destinations by their own code, which is not always the client's.",
    labels: [...destinationLabels, 'code'],
  },
  destinationErrors: {
    name: 'mixed_version_proxy_destination_errors_total',
    type: 'counter',
    stability: 'ALPHA',
    help: 'Attempts at destinations that did not respond, by error: ConnectFailed, TLSFailed, ConnectionClosed, Timeout, ClientGone, InvalidResponse, RequestHeaderFieldsTooLarge, IdentityTokenTooLarge, InternalError.',
    labels: [...destinationLabels, 'error'],
  },
  destinationInflight: {
    name: 'mixed_version_proxy_destination_inflight_requests',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'Requests in flight at a destination, long-running ones included.',
    labels: destinationLabels,
  },
  destinationDuration: {
    name: 'mixed_version_proxy_destination_response_duration_seconds',
    type: 'histogram',
    stability: 'ALPHA',
    help: 'Time from handing a request to a destination to the head of its response, connecting included.',
    labels: destinationLabels,
    buckets: requestBuckets,
  },
  health: {
    name: 'mixed_version_proxy_destination_health',
    type: 'gauge',
    stability: 'ALPHA',
    help: '1 for the status that a server has now: unknown, healthy, unhealthy.',
    labels: ['destination', 'status'],
  },
  healthChanges: {
    name: 'mixed_version_proxy_destination_health_changes_total',
    type: 'counter',
    stability: 'ALPHA',
    help: 'Changes of a server to a status: unknown, healthy, unhealthy.',
    labels: ['destination', 'status'],
  },
  probes: {
    name: 'mixed_version_proxy_destination_probes_total',
    type: 'counter',
    stability: 'ALPHA',
    help: 'Health probes of a server by outcome: ready, alive, not-ready, unreachable.',
    labels: ['destination', 'outcome'],
  },
  putAside: {
    name: 'mixed_version_proxy_destination_put_aside_total',
    type: 'counter',
    stability: 'ALPHA',
    help: 'Times that a server got no more requests until its /readyz said that it is ready, because a connection to it was refused or broke.',
    labels: ['destination'],
  },
  secondTries: {
    name: 'mixed_version_proxy_second_tries_total',
    type: 'counter',
    stability: 'ALPHA',
    help: 'Requests that were sent to a second destination, by what came of the first: an error as in destination_errors_total, or NotServed for a 404 by which it turned out not to have the resource.',
    labels: ['cause'],
  },
  retryBudget: {
    name: 'mixed_version_proxy_retry_budget',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'Second tries that the retry budget allows at this moment. Below 1 there is none.',
    labels: [],
  },
  connectDuration: {
    name: 'mixed_version_proxy_destination_connect_duration_seconds',
    type: 'histogram',
    stability: 'ALPHA',
    help: 'Time to open a connection to a destination: name, TCP and TLS.',
    labels: destinationLabels,
    buckets: connectBuckets,
  },
  connectErrors: {
    name: 'mixed_version_proxy_destination_connect_errors_total',
    type: 'counter',
    stability: 'ALPHA',
    help: 'Connections to a destination that could not be opened, by cause: the error code, and for TLS unknown_ca, expired_cert, hostname_mismatch, client_certificate_refused, protocol_mismatch or other.',
    labels: [...destinationLabels, 'cause'],
  },
  destinationConnections: {
    name: 'mixed_version_proxy_destination_connections',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'Open connections to a destination, by protocol: h2, http/1.1.',
    labels: [...destinationLabels, 'protocol'],
  },
} as const satisfies Record<string, MetricDefinition>;
