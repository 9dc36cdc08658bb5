import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import * as v from 'valibot';
import { chartPath, hasHelm, manifestsPath, renderChart } from '../../scripts/helm/render-chart.ts';
import { runCommand } from '../support/command-context.ts';
import { type KubernetesObject, objectsIn, objectsOf } from './support/manifests.ts';

const root = resolve(import.meta.dirname, '../..');
const objects = objectsOf(manifestsPath);
const skip = hasHelm() ? false : 'helm is not on PATH';

function named(kind: string, name: string): KubernetesObject {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name === name);
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
const sync = v.parse(workloadSchema, named('Deployment', 'mixed-version-proxy-sync')).spec;

/** Starts a command where no file can be read, and holds the files that it asks for against what is mounted. */
async function assertStarts(
  { template }: typeof gateway,
  files: ReadonlyMap<string, string>,
  more: readonly string[],
) {
  const [{ args, volumeMounts }] = template.spec.containers;
  const { code, errors } = await runCommand(new Map(files), [...args, ...more]);
  assert.equal(code, 2);
  const faults = errors.split('\n').filter((line) => line !== '');
  assert.ok(faults.length > 0);
  for (const fault of faults) {
    const [, path = ''] = /cannot read (\S+): ENOENT/.exec(fault) ?? assert.fail(fault);
    assert.ok(
      volumeMounts.some(({ mountPath }) => path.startsWith(`${mountPath}/`)),
      path,
    );
  }
  assert.deepEqual(
    volumeMounts.map(({ name }) => name).sort(),
    template.spec.volumes.map(({ name }) => name).sort(),
  );
}

describe('the manifests', () => {
  test('start gateways with a configuration without a fault, and with files that are mounted', async () => {
    const { data } = v.parse(
      v.looseObject({ data: v.strictObject({ 'config.yaml': v.string() }) }),
      named('ConfigMap', 'mixed-version-proxy-gateway'),
    );
    await assertStarts(gateway, new Map([['/etc/router/config/config.yaml', data['config.yaml']]]), [
      '--dry-run',
    ]);
  });

  test('start sync jobs with flags that they have, and with files that are mounted', async () => {
    await assertStarts(sync, new Map(), []);
  });

  test('name every gateway as a target, under the name that its certificate carries', () => {
    const [{ args }] = sync.template.spec.containers;
    assert.deepEqual(
      args.filter((flag) => flag.startsWith('--target=')),
      Array.from(
        { length: gateway.replicas },
        (_, index) =>
          `--target=https://mixed-version-proxy-gateway-${index}.mixed-version-proxy-gateway-pods.kube-system.svc:6443`,
      ),
    );
    assert.ok(args.includes('--target-server-name=mixed-version-proxy-gateway.kube-system.svc'));
  });

  test('let a gateway be reached before it is ready, for it is not ready before the first snapshot', () => {
    const { spec } = v.parse(
      v.looseObject({ spec: v.looseObject({ publishNotReadyAddresses: v.boolean() }) }),
      named('Service', 'mixed-version-proxy-gateway-pods'),
    );
    assert.equal(spec.publishNotReadyAddresses, true);
  });

  test('give the sync job the rights of deploy/sync/rbac.yaml, and the gateway none', () => {
    const isRights = ({ apiVersion, kind }: KubernetesObject) =>
      apiVersion.startsWith('rbac.') || kind === 'ServiceAccount';
    const inOrder = (list: readonly KubernetesObject[]) =>
      list
        .filter(isRights)
        .sort((a, b) =>
          `${a.kind}/${a.metadata.namespace}/${a.metadata.name}`.localeCompare(
            `${b.kind}/${b.metadata.namespace}/${b.metadata.name}`,
          ),
        );
    // The user of a certificate is for nodes; pods have a service account.
    const ofPods = objectsOf('deploy/sync/rbac.yaml').map(({ subjects, ...object }) =>
      Array.isArray(subjects)
        ? { ...object, subjects: subjects.filter(({ kind }) => kind === 'ServiceAccount') }
        : object,
    );
    assert.deepEqual(inOrder(objects), inOrder(ofPods));
    assert.equal(gateway.template.spec['automountServiceAccountToken'], false);
  });

  test('let a voluntary disruption take one gateway at a time', () => {
    const { spec } = named('PodDisruptionBudget', 'mixed-version-proxy-gateway');
    assert.deepEqual(spec, {
      maxUnavailable: 1,
      selector: { matchLabels: { 'app.kubernetes.io/name': 'mixed-version-proxy-gateway' } },
    });
  });

  test('keep everybody from the metrics of the sync job', () => {
    const { spec } = v.parse(
      v.looseObject({ spec: v.looseObject({ ingress: v.array(v.unknown()) }) }),
      named('NetworkPolicy', 'mixed-version-proxy-sync'),
    );
    assert.deepEqual(spec.ingress, []);
  });
});

describe('the chart', () => {
  test('has the alerts of deploy/monitoring', () => {
    assert.equal(
      readFileSync(join(root, chartPath, 'files/alerts.yaml'), 'utf8'),
      readFileSync(join(root, 'deploy/monitoring/alerts.yaml'), 'utf8'),
    );
  });

  test('is without a fault to helm, and makes the plain manifests', { skip }, () => {
    execFileSync('helm', ['lint', '--strict', chartPath], { cwd: root, stdio: 'pipe' });
    assert.deepEqual(objectsIn(renderChart()), objects);
  });

  test('adds what is for the Prometheus operator only when asked', { skip }, () => {
    const rendered = objectsIn(
      renderChart(['serviceMonitor.enabled=true', 'prometheusRule.enabled=true', 'gateway.replicas=3']),
    );
    const added = rendered.filter(({ apiVersion }) => apiVersion.startsWith('monitoring.coreos.com/'));
    assert.deepEqual(added.map(({ kind }) => kind).sort(), [
      'PodMonitor',
      'PrometheusRule',
      'ServiceMonitor',
    ]);
    assert.ok(objects.every(({ apiVersion }) => !apiVersion.startsWith('monitoring.coreos.com/')));
  });

  test('refuses values that it does not know', { skip }, () => {
    assert.throws(() => renderChart(['gateway.replica=3']), /replica/);
    assert.throws(() => renderChart(['image.digest=latest']), /digest/);
    assert.throws(() => renderChart(['sync.targets[0]=http://10.0.0.1']), /targets/);
  });
});
