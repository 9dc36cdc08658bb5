import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import * as v from 'valibot';
import { parse } from 'yaml';
import {
  chartPath,
  hasHelm,
  helm,
  manifestsPath,
  manifestsText,
  renderChart,
} from '../../scripts/helm/render-chart.ts';
import { runCommand } from '../support/commands/command-context.ts';
import { type KubernetesObject, objectsIn, objectsOf } from './support/manifests.ts';

const root = resolve(import.meta.dirname, '../..');
const objects = objectsOf(manifestsPath);
const skip = hasHelm() ? false : 'helm is not on PATH (set TEST_ASSET_HELM)';

function named(kind: string, name: string, among = objects): KubernetesObject {
  const found = among.filter((object) => object.kind === kind && object.metadata.name === name);
  return found.length === 1 && found[0] !== undefined ? found[0] : assert.fail(`${kind} ${name}`);
}

const workloadSchema = v.looseObject({
  spec: v.looseObject({
    replicas: v.number(),
    template: v.looseObject({
      spec: v.looseObject({
        securityContext: v.looseObject({ runAsNonRoot: v.literal(true) }),
        containers: v.tuple([
          v.looseObject({
            args: v.array(v.string()),
            securityContext: v.strictObject({
              allowPrivilegeEscalation: v.literal(false),
              readOnlyRootFilesystem: v.literal(true),
              capabilities: v.strictObject({ drop: v.tuple([v.literal('ALL')]) }),
            }),
            volumeMounts: v.array(v.looseObject({ name: v.string(), mountPath: v.string() })),
          }),
        ]),
        volumes: v.array(v.looseObject({ name: v.string() })),
      }),
    }),
  }),
});
const gateway = v.parse(workloadSchema, named('StatefulSet', 'mixed-version-proxy-gateway')).spec;

/** The configuration that a gateway is given, as a file of its pod. */
function configurationIn(among: readonly KubernetesObject[]): ReadonlyMap<string, string> {
  const { data } = v.parse(
    v.looseObject({ data: v.strictObject({ 'config.yaml': v.string() }) }),
    named('ConfigMap', 'mixed-version-proxy-gateway', among),
  );
  return new Map([['/etc/router/config/config.yaml', data['config.yaml']]]);
}

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Starts a command where no file can be read, and holds the files that it asks for against what is mounted. */
async function assertStarts(
  { template }: typeof gateway,
  files: ReadonlyMap<string, string>,
  more: readonly string[],
) {
  const [{ args, volumeMounts }] = template.spec.containers;
  const { code, errors } = await runCommand(new Map(files), [...args, ...more]);
  assert.equal(code, 2);
  // --in-cluster is for pods, and this is none.
  const faults = errors
    .split('\n')
    .filter(
      (line) => line !== '' && !/This is no pod of a cluster|^warning: --proxy-client-cert-file/.test(line),
    );
  assert.ok(faults.length > 0);
  for (const fault of faults) {
    const [, path = ''] = /cannot read (\S+): no such file/.exec(fault) ?? assert.fail(fault);
    const mounted = volumeMounts.map(({ mountPath }) => mountPath);
    // The token of the service account is mounted by Kubernetes.
    if (template.spec['automountServiceAccountToken'] !== false) mounted.push(serviceAccountFolder);
    assert.ok(
      mounted.some((folder) => path.startsWith(`${folder}/`)),
      path,
    );
  }
  assert.deepEqual(
    volumeMounts.map(({ name }) => name).sort(),
    template.spec.volumes.map(({ name }) => name).sort(),
  );
}

const subject = v.looseObject({ kind: v.string(), name: v.string() });

const inFiles = /"name":"mixed-version-proxy-(reader|monitor|push)"/g;

/**
 * The user of a certificate is for nodes; pods have one service account. Roles and bindings have the names of the release in
 * the chart, so that neither another release nor the files take them over.
 */
function rightsOfPods(account: string): readonly KubernetesObject[] {
  const pushes = account.endsWith('-sync');
  const files = [
    ...objectsOf('deploy/kubernetes/reader.yaml').filter(({ kind }) => kind !== 'ServiceAccount'),
    ...objectsOf('deploy/kubernetes/own-paths.yaml'),
    // The chart binds the roles to read to whom there is, by bindings of their names.
    ...objectsOf('deploy/sync/rights.yaml').filter(
      ({ metadata }) => pushes && metadata.name === 'mixed-version-proxy-push',
    ),
  ];
  const roles = files.map((object) => {
    const renamed: KubernetesObject = JSON.parse(
      JSON.stringify({ ...object, subjects: undefined }).replaceAll(
        inFiles,
        '"name":"mixed-version-proxy:kube-system:$1"',
      ),
    );
    if (!Array.isArray(object['subjects'])) return renamed;
    const accounts = [{ kind: 'ServiceAccount', name: account, namespace: 'kube-system' }];
    const groups = v.parse(v.array(subject), object['subjects']).filter(({ kind }) => kind === 'Group');
    return { ...renamed, subjects: groups.length > 0 ? groups : accounts };
  });
  const metadata = { name: account, namespace: 'kube-system' };
  return [{ apiVersion: 'v1', kind: 'ServiceAccount', metadata }, ...roles];
}

function rightsIn(among: readonly KubernetesObject[]): readonly KubernetesObject[] {
  const key = ({ kind, metadata }: KubernetesObject) => `${kind}/${metadata.namespace}/${metadata.name}`;
  return among
    .filter(({ apiVersion, kind }) => apiVersion.startsWith('rbac.') || kind === 'ServiceAccount')
    .map(({ metadata: { labels: _, ...metadata }, ...object }) => ({ ...object, metadata }))
    .sort((a, b) => key(a).localeCompare(key(b)));
}

describe('the manifests', () => {
  test('start gateways with a configuration without a fault, and with files that are mounted', async () => {
    await assertStarts(gateway, configurationIn(objects), ['--dry-run']);
  });

  test('have gateways read the cluster themselves: no sync job, no keys, a service account for the gateway', () => {
    assert.match([...configurationIn(objects).values()].join(), /^apiServers:\n {2}inCluster: true$/m);
    assert.equal(gateway.template.spec['serviceAccountName'], 'mixed-version-proxy-gateway');
    assert.ok(objects.every(({ kind }) => kind !== 'Deployment'));
  });

  test('give the gateway the rights of deploy/kubernetes/reader.yaml', () => {
    assert.deepEqual(rightsIn(objects), rightsIn(rightsOfPods('mixed-version-proxy-gateway')));
  });

  test('let a voluntary disruption take one gateway at a time', () => {
    const { spec } = named('PodDisruptionBudget', 'mixed-version-proxy-gateway');
    assert.deepEqual(spec, {
      maxUnavailable: 1,
      selector: { matchLabels: { 'app.kubernetes.io/name': 'mixed-version-proxy-gateway' } },
    });
  });
});

const chart = v.parse(
  v.looseObject({ version: v.string(), appVersion: v.string() }),
  parse(readFileSync(join(root, chartPath, 'Chart.yaml'), 'utf8')),
);

/** Values with a sync job, which pushes with certificates of the cluster. */
const withSyncJob = [
  'sync.enabled=true',
  'gateway.servingSecret=serving',
  'gateway.frontProxySecret=front-proxy',
  'gateway.trustConfigMap=trust',
];

describe('the chart', () => {
  test('is without a fault to helm, and makes the plain manifests', { skip }, () => {
    execFileSync(helm, ['lint', '--strict', chartPath], { cwd: root, stdio: 'pipe' });
    assert.deepEqual(objectsIn(manifestsText()), objects);
  });

  test('adds what is for the Prometheus operator only when asked', { skip }, () => {
    const rendered = objectsIn(
      renderChart(['serviceMonitor.enabled=true', 'prometheusRule.enabled=true', 'gateway.replicas=3']),
    );
    const added = rendered.filter(({ apiVersion }) => apiVersion.startsWith('monitoring.coreos.com/'));
    assert.deepEqual(added.map(({ kind }) => kind).sort(), ['PrometheusRule', 'ServiceMonitor']);
    assert.ok(objects.every(({ apiVersion }) => !apiVersion.startsWith('monitoring.coreos.com/')));
  });

  describe('with a sync job', { skip }, () => {
    let pushed: readonly KubernetesObject[];
    before(() => {
      pushed = objectsIn(renderChart([...withSyncJob, 'gateway.replicas=3']));
    });
    const workload = (kind: string, name: string) => v.parse(workloadSchema, named(kind, name, pushed)).spec;
    const syncJob = () => workload('Deployment', 'mixed-version-proxy-sync');
    const pushedGateway = () => workload('StatefulSet', 'mixed-version-proxy-gateway');

    test('starts it with flags that it has, and with files that are mounted', async () => {
      await assertStarts(syncJob(), new Map(), []);
      await assertStarts(pushedGateway(), configurationIn(pushed), ['--dry-run']);
    });

    test('names every gateway as a target, under the name that its certificate carries', () => {
      const [{ args }] = syncJob().template.spec.containers;
      assert.deepEqual(
        args.filter((flag) => flag.startsWith('--target=')),
        [0, 1, 2].map(
          (index) =>
            `--target=https://mixed-version-proxy-gateway-${index}.mixed-version-proxy-gateway-pods.kube-system.svc:6443`,
        ),
      );
      assert.ok(args.includes('--target-server-name=mixed-version-proxy-gateway.kube-system.svc'));
    });

    test('lets a gateway be reached before it is ready, for it is not ready before the first snapshot', () => {
      const { spec } = v.parse(
        v.looseObject({ spec: v.looseObject({ publishNotReadyAddresses: v.boolean() }) }),
        named('Service', 'mixed-version-proxy-gateway-pods', pushed),
      );
      assert.equal(spec.publishNotReadyAddresses, true);
    });

    test('gives the sync job the rights of deploy/kubernetes/reader.yaml, and the gateway none', () => {
      assert.deepEqual(rightsIn(pushed), rightsIn(rightsOfPods('mixed-version-proxy-sync')));
      assert.equal(pushedGateway().template.spec['automountServiceAccountToken'], false);
    });

    test('keeps everybody from its metrics', () => {
      const { spec } = v.parse(
        v.looseObject({ spec: v.looseObject({ ingress: v.array(v.unknown()) }) }),
        named('NetworkPolicy', 'mixed-version-proxy-sync', pushed),
      );
      assert.deepEqual(spec.ingress, []);
    });
  });

  test('gives every object the labels that Helm recommends', { skip }, () => {
    const monitored = ['serviceMonitor.enabled=true', 'prometheusRule.enabled=true'];
    const network = ['networkPolicy.monitoringNamespace=monitoring'];
    const rendered = [renderChart(), renderChart([...withSyncJob, ...monitored, ...network])].flatMap(
      objectsIn,
    );
    for (const { kind, metadata } of rendered) {
      const labels = v.parse(v.record(v.string(), v.string()), metadata['labels']);
      const { 'app.kubernetes.io/name': name = '', ...others } = labels;
      assert.match(name, /^mixed-version-proxy(-gateway|-gateway-pods|-sync)?$/, kind);
      assert.deepEqual(others, {
        'helm.sh/chart': `mixed-version-proxy-${chart.version}`,
        'app.kubernetes.io/instance': 'mixed-version-proxy',
        'app.kubernetes.io/version': chart.appVersion,
        'app.kubernetes.io/managed-by': 'Helm',
        'app.kubernetes.io/part-of': 'mixed-version-proxy',
      });
    }
  });

  test('selects as it always did, so that an upgrade of it is taken, and scrapes each gateway once', {
    skip,
  }, () => {
    const rendered = objectsIn(renderChart(['serviceMonitor.enabled=true']));
    const selector = { matchLabels: { 'app.kubernetes.io/name': 'mixed-version-proxy-gateway' } };
    for (const kind of ['StatefulSet', 'ServiceMonitor']) {
      const { spec } = v.parse(
        v.looseObject({ spec: v.looseObject({ selector: v.unknown() }) }),
        named(kind, 'mixed-version-proxy-gateway', rendered),
      );
      assert.deepEqual(spec.selector, selector);
    }
    const scraped = rendered.filter(
      ({ kind, metadata }) =>
        kind === 'Service' &&
        JSON.stringify(metadata).includes('"app.kubernetes.io/name":"mixed-version-proxy-gateway"'),
    );
    assert.deepEqual(
      scraped.map(({ metadata }) => metadata.name),
      ['mixed-version-proxy-gateway'],
    );
  });

  describe('of a configuration that changes', { skip }, () => {
    const podsWith = (value: string) => {
      const spec = named('StatefulSet', 'mixed-version-proxy-gateway', objectsIn(renderChart([value])));
      return JSON.stringify(spec['spec']);
    };

    test('replaces pods for every change of the configuration: a running router takes none', () => {
      const pods = podsWith('gateway.configuration.logging.verbosity=4');
      assert.equal(pods, podsWith('gateway.configuration.logging.verbosity=4'));
      assert.notEqual(pods, podsWith('gateway.configuration.logging.verbosity=3'));
    });
  });

  test('puts pods where the values say, both workloads alike', { skip }, () => {
    const names = ['gateway', 'sync'];
    const rendered = objectsIn(
      renderChart([
        ...withSyncJob,
        'imagePullSecrets[0].name=pull',
        'gateway.serviceAnnotations.internal=yes',
        ...names.flatMap((name) => [
          `${name}.priorityClassName=`,
          `${name}.nodeSelector.pool=${name}`,
          `${name}.tolerations[0].operator=Exists`,
          `${name}.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight=1`,
          `${name}.podAnnotations.note=${name}`,
          `${name}.podLabels.team=${name}`,
        ]),
      ]),
    );
    const workloads = { gateway: 'StatefulSet', sync: 'Deployment' } as const;
    for (const [name, kind] of Object.entries(workloads)) {
      const { template } = v.parse(
        v.looseObject({
          template: v.looseObject({
            metadata: v.looseObject({
              labels: v.record(v.string(), v.string()),
              annotations: v.record(v.string(), v.string()),
            }),
            spec: v.looseObject({}),
          }),
        }),
        named(kind, `mixed-version-proxy-${name}`, rendered)['spec'],
      );
      assert.equal(template.metadata.annotations['note'], name);
      assert.deepEqual(template.metadata.labels, {
        'app.kubernetes.io/name': `mixed-version-proxy-${name}`,
        'app.kubernetes.io/instance': 'mixed-version-proxy',
        'app.kubernetes.io/version': chart.appVersion,
        'app.kubernetes.io/managed-by': 'Helm',
        'app.kubernetes.io/part-of': 'mixed-version-proxy',
        team: name,
      });
      const { nodeSelector, tolerations, affinity, imagePullSecrets, priorityClassName } = template.spec;
      assert.deepEqual(
        { nodeSelector, tolerations, affinity, imagePullSecrets, priorityClassName },
        {
          nodeSelector: { pool: name },
          tolerations: [{ operator: 'Exists' }],
          affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1 }] } },
          imagePullSecrets: [{ name: 'pull' }],
          priorityClassName: undefined,
        },
      );
    }
  });

  test('has the port, class and policy of its Service, and never two gateways on a node, as the values say', {
    skip,
  }, () => {
    const rendered = objectsIn(
      renderChart([
        'gateway.serviceType=LoadBalancer',
        'gateway.servicePort=6443',
        'gateway.loadBalancerClass=example.com/internal',
        'gateway.externalTrafficPolicy=Local',
        'gateway.antiAffinity=required',
      ]),
    );
    assert.deepEqual(named('Service', 'mixed-version-proxy-gateway', rendered)['spec'], {
      type: 'LoadBalancer',
      loadBalancerClass: 'example.com/internal',
      externalTrafficPolicy: 'Local',
      selector: { 'app.kubernetes.io/name': 'mixed-version-proxy-gateway' },
      ports: [{ name: 'https', port: 6443, targetPort: 'https' }],
    });
    assert.match(
      JSON.stringify(named('StatefulSet', 'mixed-version-proxy-gateway', rendered)['spec']),
      /"requiredDuringSchedulingIgnoredDuringExecution":\[\{"topologyKey":"kubernetes\.io\/hostname"/,
    );
  });

  test('needs no node of the control plane', { skip }, () => {
    for (const { spec } of objectsIn(renderChart([...withSyncJob])) as readonly { spec?: unknown }[]) {
      assert.doesNotMatch(JSON.stringify(spec ?? {}), /nodeSelector/);
    }
  });

  test('needs nothing beforehand: every object that its pods mount is its own, or every cluster has it', {
    skip,
  }, () => {
    const rendered = objectsIn(renderChart());
    const text = JSON.stringify(named('StatefulSet', 'mixed-version-proxy-gateway', rendered));
    const mounted = [...text.matchAll(/"(?:secretName|configMap":\{"name)":"([^"]+)"/g)].map(
      (match) => match[1] ?? '',
    );
    const own = rendered.map(({ metadata }) => metadata.name);
    const ofEveryCluster = ['kube-root-ca.crt', 'extension-apiserver-authentication'];
    assert.ok(mounted.length >= 4, text);
    for (const name of mounted) assert.ok([...own, ...ofEveryCluster].includes(name), name);
    const { data } = v.parse(
      v.looseObject({ data: v.record(v.string(), v.string()) }),
      named('Secret', 'mixed-version-proxy-gateway-serving', rendered),
    );
    const pem = (key: string) => Buffer.from(data[key] ?? '', 'base64');
    const certificate = new X509Certificate(pem('tls.crt'));
    assert.ok(certificate.checkIssued(new X509Certificate(pem('ca.crt'))));
    assert.ok(certificate.checkPrivateKey(createPrivateKey(pem('tls.key'))));
    assert.equal(
      certificate.checkHost('mixed-version-proxy-gateway.kube-system.svc'),
      'mixed-version-proxy-gateway.kube-system.svc',
    );
  });

  test('keeps the key of its authority out of the pods', { skip }, () => {
    const gatewayPods = JSON.stringify(
      named('StatefulSet', 'mixed-version-proxy-gateway', objectsIn(renderChart())),
    );
    assert.match(
      gatewayPods,
      /"secretName":"mixed-version-proxy-gateway-serving","defaultMode":\d+,"items":/,
    );
    assert.doesNotMatch(gatewayPods, /ca\.key/);
  });

  test('says what a sync job lacks', { skip }, () => {
    assert.throws(() => renderChart(['sync.enabled=true']), /needs gateway\.trustConfigMap/);
  });

  test('refuses values that it does not know', { skip }, () => {
    assert.throws(() => renderChart(['gateway.replica=3']), /replica/);
    assert.throws(() => renderChart(['image.repository=']), /image\.repository is required/);
    assert.throws(() => renderChart(['gateway.configuration.serving.prot=1']), /prot/);
    assert.throws(() => renderChart(['gateway.configuration.serving.port=x']), /port/);
    assert.throws(() => renderChart(['image.digest=latest']), /digest/);
    assert.throws(() => renderChart(['sync.targets[0]=http://10.0.0.1']), /targets/);
  });
});
