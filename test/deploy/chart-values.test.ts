import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { parse } from 'yaml';
import { chartPath, hasHelm, renderChart } from '../../scripts/helm/render-chart.ts';

const skip = hasHelm() ? false : 'helm is not on PATH (set TEST_ASSET_HELM)';
const valuesFile = resolve(import.meta.dirname, '../..', join(chartPath, 'values.yaml'));
const values: unknown = parse(readFileSync(valuesFile, 'utf8'));

/** Paths of all values that are no sections. */
function leavesOf(value: unknown, path = ''): readonly (readonly [path: string, value: unknown])[] {
  const isSection =
    typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
  if (!isSection) return [[path, value]];
  return Object.entries(value).flatMap(([name, member]) =>
    leavesOf(member, path === '' ? name : `${path}.${name}`),
  );
}

const tolerations = [{ operator: 'Exists' }];
const spread = [{ maxSkew: 2, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' }];
const variables = [{ name: 'NODE_OPTIONS', value: '--trace-warnings' }];
const pair = { some: 'thing' };

/** Another value than the default, where none can be made from its type. */
const others: Readonly<Record<string, unknown>> = {
  'image.digest': `sha256:${'0'.repeat(64)}`,
  'image.pullPolicy': 'Always',
  imagePullSecrets: [{ name: 'pull' }],
  'image.repository': 'registry.example/router',
  'gateway.externalTrafficPolicy': 'Local',
  'gateway.antiAffinity': 'required',
  'gateway.servingNames': ['gateway.example'],
  'gateway.serviceType': 'NodePort',
  'gateway.serviceAnnotations': pair,
  'gateway.podAnnotations': pair,
  'gateway.podLabels': pair,
  'gateway.nodeSelector': pair,
  'gateway.affinity': { nodeAffinity: {} },
  'gateway.tolerations': tolerations,
  'gateway.topologySpreadConstraints': spread,
  'gateway.extraEnv': variables,
  'gateway.configuration': { limits: { longRunningRequests: 7 } },
  'sync.targets': ['https://10.0.0.1:6443'],
  'sync.podAnnotations': pair,
  'sync.podLabels': pair,
  'sync.nodeSelector': pair,
  'sync.affinity': { nodeAffinity: {} },
  'sync.tolerations': tolerations,
  'sync.extraEnv': variables,
};

/**
 * Settings that have to be on for a value to count. Everything else is off, or given, so that nothing rendered is
 * random.
 */
const withSyncJob = {
  'sync.enabled': true,
  'gateway.servingSecret': 'serving',
  'gateway.trustConfigMap': 'trust',
};
function surroundingsOf(path: string): Readonly<Record<string, unknown>> {
  if (path.startsWith('sync.'))
    return path === 'sync.enabled' ? { ...withSyncJob, 'sync.enabled': false } : withSyncJob;
  if (path.startsWith('certManager.'))
    return { 'certManager.enabled': true, 'certManager.issuerRef.name': 'issuer' };
  if (path === 'networkPolicy.monitoringNamespace') return withSyncJob;
  const isOfCertificate = path === 'gateway.servingSecret' || path === 'gateway.servingNames';
  return isOfCertificate ? {} : { 'gateway.servingSecret': 'serving' };
}

function anotherThan(path: string, value: unknown): unknown {
  const other = others[path];
  if (other !== undefined) return other;
  if (typeof value === 'boolean') return !value;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'string') return `${value}x`;
  return assert.fail(`${path}: name another value than the default in this test`);
}

/** Without the certificate, which is another one each time. */
const rendered = (structured: Readonly<Record<string, unknown>>): string =>
  renderChart([], structured).replaceAll(/^ {2}(tls|ca)\.(crt|key): .*$/gm, '');

describe('every value of the chart changes what it renders', { skip }, () => {
  for (const [path, value] of leavesOf(values)) {
    test(path, () => {
      const surroundings = surroundingsOf(path);
      const current = path in surroundings ? surroundings[path] : value;
      const changed = rendered({ ...surroundings, [path]: anotherThan(path, current) });
      assert.notEqual(changed, rendered(surroundings));
    });
  }
});

describe('cert-manager', { skip }, () => {
  test('makes the certificate in place of the chart, for the same names', () => {
    const text = renderChart([], {
      'certManager.enabled': true,
      'certManager.issuerRef.name': 'issuer',
      'gateway.servingNames': ['gateway.example', '10.0.0.9'],
    });
    assert.match(text, /kind: Certificate\n/);
    assert.doesNotMatch(text, /kind: Secret\n/);
    assert.match(
      text,
      /dnsNames:\n(?: {4}- .*\n)* {4}- gateway\.example\n {2}ipAddresses:\n {4}- 10\.0\.0\.9\n/,
    );
    assert.match(text, /secretName: mixed-version-proxy-gateway-serving\n/);
  });

  test('needs an issuer', () => {
    assert.throws(() => renderChart(['certManager.enabled=true']), /issuerRef/);
  });
});
