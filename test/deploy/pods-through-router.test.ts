import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v from 'valibot';
import { hasHelm, manifestsPath, renderChart } from '../../scripts/helm/render-chart.ts';
import { type KubernetesObject, objectsIn, objectsOf } from './support/manifests.ts';

const policySchema = v.looseObject({
  spec: v.looseObject({
    matchConstraints: v.looseObject({
      objectSelector: v.strictObject({
        matchExpressions: v.tuple([
          v.strictObject({ key: v.string(), operator: v.literal('NotIn'), values: v.array(v.string()) }),
        ]),
      }),
    }),
  }),
});
const [policy] = objectsOf('deploy/kubernetes/pods-through-router.yaml');
const [{ key, values }] = v.parse(policySchema, policy).spec.matchConstraints.objectSelector.matchExpressions;

const workloadSchema = v.looseObject({
  spec: v.looseObject({
    template: v.looseObject({
      metadata: v.looseObject({ labels: v.record(v.string(), v.string()) }),
    }),
  }),
});

/** @returns whether the policy leaves the pods alone, by workload */
function exemptions(among: readonly KubernetesObject[]): Readonly<Record<string, boolean>> {
  const workloads = among.filter(({ kind }) => kind === 'StatefulSet' || kind === 'Deployment');
  return Object.fromEntries(
    workloads.map((workload) => {
      const { labels } = v.parse(workloadSchema, workload).spec.template.metadata;
      return [workload.metadata.name, values.includes(labels[key] ?? '')];
    }),
  );
}

test('pods of the router itself ask API servers directly', () => {
  const workloads = [...objectsOf(manifestsPath), ...objectsOf('deploy/sync/deployment.yaml')];
  assert.deepEqual(exemptions(workloads), {
    'mixed-version-proxy-gateway': true,
    'mixed-version-proxy-sync': true,
  });
});

test('so do those of a release of any name', {
  skip: hasHelm() ? false : 'helm is not on PATH (set TEST_ASSET_HELM)',
}, () => {
  const syncJob = ['sync.enabled=true', 'gateway.trustConfigMap=trust', 'gateway.servingSecret=serving'];
  const labels = ['gateway.podLabels.team=edge', 'sync.podLabels.team=edge'];
  const rendered = objectsIn(renderChart([...syncJob, ...labels], {}, 'edge'));
  assert.deepEqual(exemptions(rendered), { 'edge-gateway': true, 'edge-sync': true });
});
