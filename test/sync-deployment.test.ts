import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import * as v from 'valibot';
import { parseAllDocuments } from 'yaml';
import { runCommand } from './support/commands/command-context.ts';

const deployment = v.object({
  metadata: v.object({ namespace: v.string() }),
  spec: v.object({
    template: v.object({
      spec: v.object({
        serviceAccountName: v.string(),
        containers: v.tuple([
          v.object({
            args: v.array(v.string()),
            ports: v.tuple([v.object({ containerPort: v.number() })]),
            volumeMounts: v.array(v.object({ name: v.string(), mountPath: v.string() })),
          }),
        ]),
        volumes: v.array(v.object({ name: v.string() })),
      }),
    }),
  }),
});

test('the deployment starts the sync job with flags that it has, and with files that are mounted', async () => {
  const folder = join(import.meta.dirname, '..', 'deploy', 'sync');
  const [account, workload] = parseAllDocuments(await readFile(join(folder, 'deployment.yaml'), 'utf8')).map(
    (document): unknown => document.toJS(),
  );
  const { metadata, spec } = v.parse(deployment, workload);
  const { containers, serviceAccountName, volumes } = spec.template.spec;
  const [{ args, ports, volumeMounts }] = containers;
  // Nothing can be read here: whatever else is said is a fault of the manifest.
  const { code, errors } = await runCommand(new Map(), args);
  assert.equal(code, 2);
  const faults = errors.split('\n').filter((line) => line !== '');
  assert.ok(faults.length > 0);
  for (const fault of faults) {
    const [, path = ''] = /cannot read (\S+): no such file/.exec(fault) ?? assert.fail(fault);
    assert.ok(
      volumeMounts.some(({ mountPath }) => path.startsWith(`${mountPath}/`)),
      path,
    );
  }
  assert.deepEqual(volumeMounts.map(({ name }) => name).sort(), volumes.map(({ name }) => name).sort());
  assert.ok(args.includes(`--health-port=${ports[0].containerPort}`));
  assert.deepEqual(account, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: serviceAccountName, namespace: metadata.namespace },
  });
  const rights = await readFile(join(folder, 'rights.yaml'), 'utf8');
  assert.match(
    rights,
    new RegExp(
      `kind: ServiceAccount\n    name: ${serviceAccountName}\n    namespace: ${metadata.namespace}\n`,
    ),
  );
});
