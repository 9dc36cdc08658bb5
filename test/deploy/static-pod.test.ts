import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import * as v from 'valibot';
import { parse } from 'yaml';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { faultsOfCalls } from '../docs/support/command-flags.ts';
import { commandContext } from '../support/commands/command-context.ts';
import { kubeadmManifest } from '../support/installation/kubeadm-layout.ts';
import { serveFiles } from '../support/routers/serve-options.ts';

const folder = resolve(import.meta.dirname, '../../deploy/static-pod');
const read = (name: string) => readFileSync(join(folder, name), 'utf8');

const probe = v.object({
  httpGet: v.strictObject({ host: v.string(), path: v.string(), port: v.number(), scheme: v.string() }),
});
const podSchema = v.object({
  spec: v.object({
    hostNetwork: v.literal(true),
    priorityClassName: v.literal('system-node-critical'),
    terminationGracePeriodSeconds: v.number(),
    containers: v.tuple([
      v.object({
        args: v.array(v.string()),
        startupProbe: probe,
        livenessProbe: probe,
        readinessProbe: probe,
        resources: v.object({ limits: v.strictObject({ memory: v.string() }) }),
        securityContext: v.object({
          allowPrivilegeEscalation: v.literal(false),
          readOnlyRootFilesystem: v.literal(true),
          capabilities: v.strictObject({ drop: v.tuple([v.literal('ALL')]) }),
        }),
        volumeMounts: v.array(
          v.object({ name: v.string(), mountPath: v.string(), readOnly: v.optional(v.literal(true)) }),
        ),
      }),
    ]),
    volumes: v.array(
      v.object({ name: v.string(), hostPath: v.object({ path: v.string(), type: v.string() }) }),
    ),
  }),
});
const { spec } = v.parse(podSchema, parse(read('mixed-version-proxy.yaml')));
const [container] = spec.containers;
const configPath = '/etc/mixed-version-proxy/config.yaml';
/** Where the page has kube-apiserver moved to. nothing listens there in a test. */
const securePort = 6444;
const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{ name: c, cluster: { server: "https://127.0.0.1:1" } }]
users: [{ name: u, user: { token: abc } }]
contexts: [{ name: x, context: { cluster: c, user: u } }]
current-context: x
`;

test('the static pod starts the router with flags that it has, and all else is found on a node of kubeadm', async () => {
  assert.deepEqual(faultsOfCalls(`mixed-version-proxy ${container.args.join(' ')}`), []);
  const files = await serveFiles();
  const pki = (name: string, from: string): [string, string] => [
    `/etc/kubernetes/pki/${name}`,
    files.get(from) ?? assert.fail(from),
  ];
  const node = new Map([
    [configPath, read('config.yaml')],
    ['/etc/mixed-version-proxy/reader.kubeconfig', kubeconfig],
    [
      '/etc/kubernetes/manifests/kube-apiserver.yaml',
      kubeadmManifest({ pki: '/etc/kubernetes/pki', securePort }),
    ],
    pki('ca.crt', 'ca.crt'),
    pki('apiserver.crt', 'serving.crt'),
    pki('apiserver.key', 'serving.key'),
    pki('front-proxy-ca.crt', 'front-proxy-ca.crt'),
    pki('front-proxy-client.crt', 'front-proxy-client.crt'),
    pki('front-proxy-client.key', 'front-proxy-client.key'),
  ]);
  const { context, written } = commandContext(node);
  const asked = new Set<string>();
  const readFile = (path: string): string => {
    asked.add(path);
    return context.readFile(path);
  };
  // The kubelet makes the folder of the snapshot.
  const given = [...container.args, '--dry-run', `--snapshot-file=${join(tmpdir(), 'snapshot')}`];
  const code = await runCommandLine(given, { ...context, readFile });
  assert.equal(code, 0, written.errors);
  assert.deepEqual([...asked].sort(), [...node.keys()].sort());
  for (const path of asked) {
    assert.ok(
      container.volumeMounts.some(({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`)),
      `${path} is not mounted`,
    );
  }
});

test('it sees the host’s files under their own paths, and writes only beside the snapshot', () => {
  const mounts = container.volumeMounts.map(({ name, mountPath }) => [name, mountPath]);
  assert.deepEqual(
    mounts,
    spec.volumes.map(({ name, hostPath }) => [name, hostPath.path]),
  );
  const { snapshot } = v.parse(
    v.object({ snapshot: v.object({ file: v.string() }) }),
    parse(read('config.yaml')),
  );
  const writable = container.volumeMounts.filter(({ readOnly }) => readOnly !== true);
  assert.deepEqual(
    writable.map(({ mountPath }) => snapshot.file.startsWith(`${mountPath}/`)),
    [true],
  );
});

test('its probes ask the router on its own port, and those of a kube-apiserver that has moved the other one', () => {
  const on = (path: string) => ({ host: '127.0.0.1', path, port: 7443, scheme: 'HTTPS' });
  assert.deepEqual(container.startupProbe.httpGet, on('/livez'));
  assert.deepEqual(container.livenessProbe.httpGet, on('/livez'));
  assert.deepEqual(container.readinessProbe.httpGet, on('/readyz'));

  const patch = v.parse(
    v.object({ spec: v.object({ containers: v.tuple([v.record(v.string(), v.unknown())]) }) }),
    parse(read('kube-apiserver+strategic.yaml')),
  );
  const asked = { httpGet: { port: 'probe-port' } };
  const [{ name, ports, ...probes }] = patch.spec.containers;
  assert.equal(name, 'kube-apiserver');
  assert.deepEqual(probes, { startupProbe: asked, livenessProbe: asked, readinessProbe: asked });
  // In the place of kubeadm's: the kubelet would not admit a second pod with the router's port.
  assert.deepEqual(ports, [
    { $patch: 'replace' },
    { name: 'probe-port', containerPort: securePort, protocol: 'TCP' },
  ]);
});

test('the kubelet waits longer than a shutdown takes', () => {
  const { shutdown } = v.parse(
    v.object({ shutdown: v.object({ delay: v.string() }) }),
    parse(read('config.yaml')),
  );
  // --request-timeout is 60 s by default.
  assert.ok(spec.terminationGracePeriodSeconds > 60 + Number.parseInt(shutdown.delay, 10));
});
