import { accountMutants } from './account-mutants.ts';
import type { Fault } from './fault.ts';

export interface Mutant extends Fault {
  /** They have to notice it. */
  readonly tests: readonly string[];
}

const routerMetrics = 'src/node/metrics/router-metrics.ts';
const metricValues = ['test/observe/metric-values.test.ts'];

const renewals = ['src/sync/sync-loop.test.ts'];

/** A counter that counts twice. */
const twice = (name: string, line: string): Mutant => ({
  name,
  file: routerMetrics,
  from: line,
  to: `${line} ${line}`,
  tests: metricValues,
});

const wrong = (name: string, from: string, to: string): Mutant => ({
  name,
  file: routerMetrics,
  from,
  to,
  tests: metricValues,
});

/**
 * Wrong values of metrics that have an alert or a panel, and what fails only over time or only in a cluster: faults of a kind
 * that tests once let through.
 */
export const mutants: readonly Mutant[] = [
  twice('failed connections count twice', 'this.#destinations.at(destination)?.connectFailed(error);'),
  twice('reliefs count twice', 'this.#registry.state.memoryReliefs.with(relief).add();'),
  twice('pushes count twice', 'this.#registry.state.snapshotPushes.with(result).add();'),
  twice('servers that are put aside count twice', 'this.#registry.destinations.putAside.with(id).add();'),
  wrong('the generation is 0', '.set(table?.generation ?? 0)', '.set(0)'),
  wrong('the age is in milliseconds', '.set((now - table.createdAt) / 1000)', '.set(now - table.createdAt)'),
  wrong('no bytes are held', '.set(sources.heldBytes())', '.set(0)'),
  wrong('there is no retry budget', '.set(sources.retryBudget())', '.set(0)'),
  wrong('the expiry is in milliseconds', '.set(expires / 1000)', '.set(expires)'),
  wrong('no certificate has a lifetime', '.set((expires - Date.parse(notBefore)) / 1000)', '.set(0)'),
  wrong('no reload fails', '.set(lastError === null ? 0 : 1)', '.set(0)'),
  wrong('no kube-apiserver moves', '.set(isMoved ? 1 : 0)', '.set(0)'),
  {
    name: 'the credentials of a kubeconfig are kept for ever',
    file: 'src/node/credentials/cluster-access.ts',
    from: 'const freshMilliseconds = 10_000;',
    to: 'const freshMilliseconds = 1e12;',
    tests: ['src/node/credentials', 'src/sync/node', 'src/cli/sync', 'test/embedded-sync.test.ts'],
  },
  {
    name: 'a snapshot is renewed though nothing was read',
    file: 'src/sync/sync-loop.ts',
    from: 'return isRead && outcome.isInvalid !== true;',
    to: 'return true;',
    tests: renewals,
  },
  {
    name: 'a snapshot is renewed though no server could be read',
    file: 'src/sync/sync-loop.ts',
    from: 'return isRead && ',
    to: 'return ',
    tests: renewals,
  },
  {
    name: 'a snapshot is renewed though what was read makes none',
    file: 'src/sync/sync-loop.ts',
    from: 'return isRead && outcome.isInvalid !== true;',
    to: 'return isRead;',
    tests: renewals,
  },
  {
    name: 'a watch that is refused with 410 counts as a failure',
    file: 'src/sync/reading/reflector.ts',
    from: 'if (status === 410 || status === 404) throw new Expired();',
    to: 'if (status === 404) throw new Expired();',
    tests: ['src/sync/reading/reflector.test.ts'],
  },
  {
    name: 'the chart has no PodDisruptionBudget',
    file: 'deploy/helm/mixed-version-proxy/templates/gateway.yaml',
    from: 'kind: PodDisruptionBudget',
    to: 'kind: ConfigMap',
    tests: ['test/deploy/chart.test.ts'],
  },
  {
    name: 'the chart has its readers do everything to Leases',
    file: 'deploy/helm/mixed-version-proxy/templates/reader.yaml',
    from: 'resources: [leases]\n    verbs: [list, watch]',
    to: 'resources: ["*"]\n    verbs: ["*"]',
    tests: ['test/deploy/chart.test.ts'],
  },
  {
    name: 'releases of the chart in two namespaces share roles',
    file: 'deploy/helm/mixed-version-proxy/templates/_helpers.tpl',
    from: '{{ include "mvp.name" . }}:{{ .Release.Namespace }}',
    to: '{{ include "mvp.name" . }}',
    tests: ['test/deploy/chart-releases.test.ts'],
  },
  {
    name: 'systemd is told once that the process lives',
    file: 'src/node/process/signals.ts',
    from: 'setInterval(tell,',
    to: 'setTimeout(tell,',
    tests: ['test/deploy/liveness.test.ts'],
  },
  {
    name: 'a full router answers no probe',
    file: 'src/node/serving/connections.ts',
    from: 'if (!this.#takeForProbe(socket)) {',
    to: '{',
    tests: ['test/deploy/liveness.test.ts'],
  },
  {
    name: 'the embedded sync job does not say when its kubeconfig expires',
    file: 'src/sync/node/embedded-sync.ts',
    from: 'return expiringCredentials(this.#reading.kubernetes, this.#parts.edge.readFile);',
    to: 'return [];',
    tests: ['test/embedded-sync.test.ts'],
  },
  ...accountMutants,
];
