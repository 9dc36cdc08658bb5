import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import * as v from 'valibot';
import { parse } from 'yaml';
import { faultsOfCalls } from '../docs/support/command-flags.ts';
import { runCommand } from '../support/command-context.ts';

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

test('the static pod starts the router with flags that it has, and a configuration without a fault', async () => {
  assert.deepEqual(faultsOfCalls(`mixed-version-proxy ${container.args.join(' ')}`), []);
  const { code, errors } = await runCommand(new Map([[configPath, read('config.yaml')]]), [
    ...container.args,
    '--dry-run',
  ]);
  assert.equal(code, 2);
  // No certificate can be read here: whatever else is said is a fault of the configuration.
  const faults = errors.split('\n').filter((line) => line !== '');
  const paths = faults.map((fault) => /cannot read (\S+): ENOENT/.exec(fault)?.[1] ?? assert.fail(fault));
  assert.ok(paths.length >= 6, errors);
  for (const path of paths) {
    assert.ok(
      container.volumeMounts.some(({ mountPath }) => path.startsWith(`${mountPath}/`)),
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

test('its probes ask the router on the port that the configuration gives it', () => {
  const { serving, localServer } = v.parse(
    v.object({
      serving: v.object({ port: v.number() }),
      localServer: v.object({ url: v.string() }),
    }),
    parse(read('config.yaml')),
  );
  const on = (path: string) => ({ host: '127.0.0.1', path, port: serving.port, scheme: 'HTTPS' });
  assert.deepEqual(container.startupProbe.httpGet, on('/livez'));
  assert.deepEqual(container.livenessProbe.httpGet, on('/livez'));
  assert.deepEqual(container.readinessProbe.httpGet, on('/readyz'));

  const patch = v.parse(
    v.object({ spec: v.object({ containers: v.tuple([v.record(v.string(), v.unknown())]) }) }),
    parse(read('kube-apiserver+strategic.yaml')),
  );
  const asked = { httpGet: { port: Number(new URL(localServer.url).port) } };
  const [{ name, ...probes }] = patch.spec.containers;
  assert.equal(name, 'kube-apiserver');
  assert.deepEqual(probes, { startupProbe: asked, livenessProbe: asked, readinessProbe: asked });
});

test('the kubelet waits longer than a shutdown takes', () => {
  const { shutdown } = v.parse(
    v.object({ shutdown: v.object({ delay: v.string() }) }),
    parse(read('config.yaml')),
  );
  // --request-timeout is 60 s by default.
  assert.ok(spec.terminationGracePeriodSeconds > 60 + Number.parseInt(shutdown.delay, 10));
});
