import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as v from 'valibot';
import { hasHelm, renderChart } from '../../scripts/helm/render-chart.ts';
import { routerRights } from '../../src/cli/install/reader-rights.ts';
import { type KubernetesObject, objectsIn, objectsOf } from './support/manifests.ts';

const skip = hasHelm() ? false : 'helm is not on PATH (set TEST_ASSET_HELM)';

const everything = {
  'sync.enabled': true,
  'gateway.trustConfigMap': 'trust',
  'gateway.servingSecret': 'serving',
  'serviceMonitor.enabled': true,
  'prometheusRule.enabled': true,
  'networkPolicy.monitoringNamespace': 'monitoring',
};

const release = (name: string, namespace: string, values: Readonly<Record<string, unknown>> = {}) =>
  objectsIn(renderChart([], values, name, namespace));

/** By which an API server tells objects apart: the one that is applied later replaces the other. */
const identity = ({ apiVersion, kind, metadata }: KubernetesObject): string =>
  `${apiVersion} ${kind} ${metadata.namespace ?? ''}/${metadata.name}`;

function assertNothingShared(...installations: readonly (readonly KubernetesObject[])[]): void {
  const all = installations.flatMap((objects) => objects.map(identity));
  assert.deepEqual(
    all.filter((each, index) => all.indexOf(each) !== index),
    [],
  );
}

describe('releases of the chart in one cluster', { skip }, () => {
  for (const [what, values] of Object.entries({ 'without a sync job': {}, 'with everything': everything })) {
    test(`${what}, of one name in two namespaces and of two names in one, have no object in common`, () => {
      assertNothingShared(
        release('router', 'one', values),
        release('router', 'two', values),
        release('other', 'one', values),
        // Joined by a hyphen, these would be the same.
        release('a-b', 'c', values),
        release('a', 'b-c', values),
      );
    });
  }

  test('have none in common with what nodes are given by install kubeadm, or by hand', () => {
    const byHand = ['reader.yaml', 'own-paths.yaml'].flatMap((file) =>
      objectsOf(`deploy/kubernetes/${file}`),
    );
    const installed = routerRights.map(({ object }) => object as unknown as KubernetesObject);
    const gateways = release('mixed-version-proxy', 'kube-system');
    assertNothingShared(gateways, byHand);
    assertNothingShared(gateways, installed);
  });
});

const dnsLabel = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** k8s.io/kubernetes pkg/apis/core/validation, pkg/apis/rbac/validation: what each kind takes for a name. */
function isName(kind: string, name: string): boolean {
  if (/Role/.test(kind)) return name.length <= 253 && !/[/%]/.test(name);
  if (kind === 'Service') return name.length <= 63 && dnsLabel.test(name);
  // Pods of a StatefulSet get the label controller-revision-hash, <name>-<hash of ten characters>, and names of its own
  // and a number.
  if (kind === 'StatefulSet') return name.length <= 52 && dnsLabel.test(name);
  return name.length <= 253 && dnsSubdomain.test(name);
}

const subjectSchema = v.looseObject({
  kind: v.string(),
  name: v.string(),
  namespace: v.optional(v.string()),
});

/** The values of everything under one of these keys, at any depth. */
function valuesOf(value: unknown, ...keys: readonly string[]): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => [
    ...(keys.includes(key) ? [inner] : []),
    ...valuesOf(inner, ...keys),
  ]);
}

describe('a release of any name', { skip }, () => {
  /** Helm takes 53 characters, dots, and digits at the beginning. */
  const releases = ['mixed-version-proxy', `${'long-'.repeat(10)}end`, 'with.dots', '1st'];
  for (const name of releases) {
    for (const values of [{}, everything]) {
      const isWithSync = values === everything;
      describe(`${name}, ${isWithSync ? 'with' : 'without'} a sync job`, () => {
        const objects = hasHelm() ? release(name, 'n'.repeat(63), values) : [];
        const has = (kind: string, called: unknown) =>
          objects.some((object) => object.kind === kind && object.metadata.name === called);

        test('has names and labels that Kubernetes takes', () => {
          for (const { kind, metadata } of objects)
            assert.ok(isName(kind, metadata.name), `${kind} ${metadata.name}`);
          for (const labels of valuesOf(objects, 'labels', 'matchLabels'))
            for (const label of Object.values(labels as object))
              assert.match(label, /^(?=.{1,63}$)[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/);
        });

        test('binds what there is: each role, each service account, and none of a sync job that it does not have', () => {
          const bindings = objects.filter(({ kind }) => kind.endsWith('RoleBinding'));
          assert.equal(bindings.length, isWithSync ? 5 : 4);
          for (const { roleRef, subjects } of bindings) {
            const role = v.parse(subjectSchema, roleRef);
            assert.ok(has(role.kind, role.name), role.name);
            const accounts = v.parse(v.array(subjectSchema), subjects);
            assert.ok(accounts.length > 0);
            for (const account of accounts.filter(({ kind }) => kind === 'ServiceAccount'))
              assert.ok(has('ServiceAccount', account.name), account.name);
          }
          const used = valuesOf(objects, 'serviceAccountName');
          assert.deepEqual(
            used,
            objects.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata.name),
          );
          for (const service of valuesOf(objects, 'serviceName')) assert.ok(has('Service', service));
        });

        test('has a sync job reach each gateway under a name that its Service makes', () => {
          const targets = JSON.stringify(objects).matchAll(
            /--target=https:\/\/([^.]+)\.([^.]+)\.n+\.svc:6443/g,
          );
          const found = [...targets].map(([, pod = '', service]) => [
            has('StatefulSet', pod.slice(0, -2)),
            has('Service', service),
          ]);
          assert.deepEqual(
            found,
            isWithSync
              ? [
                  [true, true],
                  [true, true],
                ]
              : [],
          );
        });
      });
    }
  }
});

const selector = v.looseObject({ matchLabels: v.record(v.string(), v.string()) });
const podSchema = v.looseObject({
  template: v.looseObject({
    metadata: v.looseObject({ labels: v.record(v.string(), v.string()) }),
    spec: v.looseObject({
      containers: v.tuple([
        v.looseObject({ ports: v.array(v.looseObject({ name: v.string(), containerPort: v.number() })) }),
      ]),
    }),
  }),
});
const policySchema = v.looseObject({
  podSelector: selector,
  ingress: v.array(
    v.looseObject({ from: v.optional(v.unknown()), ports: v.array(v.looseObject({ port: v.number() })) }),
  ),
});

describe('monitors and network policies', { skip }, () => {
  const matches = (labels: Readonly<Record<string, string>>, wanted: Readonly<Record<string, string>>) =>
    Object.entries(wanted).every(([key, value]) => labels[key] === value);

  test('fit: Prometheus reaches, from the namespace that is named, each port that a monitor names', () => {
    const objects = release('router', 'one', everything);
    const specs = (...kinds: readonly string[]) =>
      objects.filter(({ kind }) => kinds.includes(kind)).map(({ spec }) => spec);
    const pods = specs('StatefulSet', 'Deployment').map((spec) => v.parse(podSchema, spec).template);
    const policies = specs('NetworkPolicy').map((spec) => v.parse(policySchema, spec));
    const services = objects.filter(({ kind }) => kind === 'Service');

    const podMonitor = v.parse(
      v.looseObject({ selector, podMetricsEndpoints: v.array(v.looseObject({ port: v.string() })) }),
      specs('PodMonitor')[0],
    );
    const serviceMonitor = v.parse(
      v.looseObject({ selector, endpoints: v.array(v.looseObject({ port: v.string() })) }),
      specs('ServiceMonitor')[0],
    );
    const serviceSchema = v.looseObject({
      selector: v.record(v.string(), v.string()),
      ports: v.array(v.looseObject({ name: v.string(), targetPort: v.string() })),
    });
    const monitored = services.filter(({ metadata }) =>
      matches((metadata['labels'] ?? {}) as Record<string, string>, serviceMonitor.selector.matchLabels),
    );
    assert.equal(monitored.length, 1, 'one Service: each gateway is scraped once');
    const service = v.parse(serviceSchema, monitored[0]?.['spec']);
    const scraped = [
      ...podMonitor.podMetricsEndpoints.map(({ port }) => ({
        labels: podMonitor.selector.matchLabels,
        port,
      })),
      ...serviceMonitor.endpoints.map(({ port }) => ({
        labels: service.selector,
        port: service.ports.find(({ name }) => name === port)?.targetPort,
      })),
    ];
    assert.equal(scraped.length, 2);
    for (const { labels, port } of scraped) {
      const [pod, ...others] = pods.filter(({ metadata }) => matches(metadata.labels, labels));
      assert.ok(pod !== undefined && others.length === 0);
      const number = pod.spec.containers[0].ports.find(({ name }) => name === port)?.containerPort;
      assert.ok(number !== undefined, String(port));
      const rules = policies
        .filter(({ podSelector }) => matches(pod.metadata.labels, podSelector.matchLabels))
        .flatMap(({ ingress }) => ingress)
        .filter(({ ports }) => ports.some((each) => each.port === number));
      assert.equal(rules.length, 1);
      const from = rules[0]?.from;
      if (from !== undefined)
        assert.match(JSON.stringify(from), /"kubernetes\.io\/metadata\.name":"monitoring"/);
    }
  });

  test('that would not fit are refused, with the value that is missing', () => {
    const without = { ...everything, 'networkPolicy.monitoringNamespace': '' };
    assert.throws(() => release('router', 'one', without), /needs networkPolicy\.monitoringNamespace/);
    assert.ok(release('router', 'one', { ...without, 'networkPolicy.enabled': false }).length > 0);
  });
});
