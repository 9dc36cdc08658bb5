import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import * as v from 'valibot';
import { parseAllDocuments, stringify } from 'yaml';
import { createDemoCertificates } from '../../../demo/certificates.ts';
import { sharedByServers } from '../../../demo/cluster.ts';
import { startExampleApiServer } from '../../../demo/example-api-server/index.ts';
import { startDemoSync } from '../../../demo/sync.ts';
import { generateKeyFiles, publicKeysFile, signingKeyFile } from '../../../src/cli/commands/keygen.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { credentialsOf, tlsRequest } from '../../../test/support/clients/tls-request.ts';
import { freePort } from '../../../test/support/free-port.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { type ContainerEngine, openContainerEngine, whyNoContainers } from './container-engine.ts';

const root = resolve(import.meta.dirname, '../../..');

const podSchema = v.object({
  terminationGracePeriodSeconds: v.number(),
  securityContext: v.object({
    runAsUser: v.optional(v.number()),
    seccompProfile: v.object({ type: v.literal('RuntimeDefault') }),
  }),
  containers: v.tuple([
    v.object({
      args: v.array(v.string()),
      resources: v.object({ limits: v.object({ memory: v.pipe(v.string(), v.regex(/^\d+[MG]i$/)) }) }),
      securityContext: v.object({
        runAsUser: v.optional(v.number()),
        runAsGroup: v.optional(v.number()),
        allowPrivilegeEscalation: v.literal(false),
        readOnlyRootFilesystem: v.literal(true),
        capabilities: v.object({ drop: v.tuple([v.literal('ALL')]) }),
      }),
      volumeMounts: v.array(v.object({ name: v.string(), mountPath: v.string() })),
    }),
  ]),
});
const objectSchema = v.variant('kind', [
  v.object({ kind: v.literal('Pod'), spec: podSchema }),
  v.object({ kind: v.literal('StatefulSet'), spec: v.object({ template: v.object({ spec: podSchema }) }) }),
]);

/** The container of the router, as one of the manifests has it. */
interface RouterContainer {
  readonly args: readonly string[];
  /** Where its configuration is looked for, and the only directory that it may write to. */
  readonly configFile: string;
  readonly stateDirectory: string;
  readonly user: number;
  /** Bytes. */
  readonly memory: number;
  /** Flags of `docker run` and `podman run`, for the rights that the manifest leaves it. */
  readonly rights: readonly string[];
  /** Seconds. */
  readonly grace: number;
}

/** @param file from the root of the repository */
function routerContainer(file: string): RouterContainer {
  const objects = parseAllDocuments(readFileSync(join(root, file), 'utf8')).map((document): unknown =>
    document.toJS(),
  );
  const found = objects
    .map((object) => v.safeParse(objectSchema, object))
    .flatMap(({ success, output }) => (success ? [output] : []))
    .at(0);
  if (found === undefined) throw new Error(`${file} has no pod of a router`);
  const pod = found.kind === 'Pod' ? found.spec : found.spec.template.spec;
  const [{ args, resources, securityContext, volumeMounts }] = pod.containers;
  const configFile = args.find((arg) => arg.startsWith('--config='))?.slice('--config='.length) ?? '';
  const mountOf = (name: string) => volumeMounts.find((mount) => mount.name === name)?.mountPath ?? '';
  if (dirname(configFile) !== mountOf('config')) throw new Error(`${file}: no volume has ${configFile}`);
  // Otherwise the image's own.
  const user = securityContext.runAsUser ?? pod.securityContext.runAsUser ?? 65_532;
  const { memory } = resources.limits;
  return {
    args,
    configFile,
    stateDirectory: mountOf('state'),
    user,
    memory: Number.parseInt(memory, 10) * 1024 ** (memory.endsWith('Gi') ? 3 : 2),
    rights: [
      '--read-only',
      '--cap-drop=ALL',
      '--security-opt=no-new-privileges',
      `--user=${[user, securityContext.runAsGroup].filter((id) => id !== undefined).join(':')}`,
      // Kubernetes' Gi is g here.
      `--memory=${memory.replace('i', '').toLowerCase()}`,
    ],
    grace: pod.terminationGracePeriodSeconds,
  };
}

/** Prints what of the program its user could change. */
const notOfRoot =
  "['', ...fs.readdirSync('/app', { recursive: true })].filter((path) => fs.lstatSync('/app/' + path).uid !== 0).join()";
/** Prints what the container may do, of all that the manifest says. */
const rightsInside = `JSON.stringify({
  user: process.getuid(),
  capabilities: /^CapEff:\\s+(.*)$/m.exec(fs.readFileSync('/proc/1/status', 'utf8'))[1],
  gainsNothing: /^NoNewPrivs:\\s+(.*)$/m.exec(fs.readFileSync('/proc/1/status', 'utf8'))[1],
  root: (() => { try { fs.writeFileSync('/written', ''); } catch ({ code }) { return code; } })(),
  memory: process.constrainedMemory(),
  heap: v8.getHeapStatistics().heap_size_limit,
})`;

describe('the image', { skip: whyNoContainers() ?? false }, () => {
  const image = 'localhost/mixed-version-proxy:test';
  let engine: ContainerEngine;
  before(async () => {
    engine = await openContainerEngine();
    await engine.run(
      'build',
      '--network=host',
      '--file=deploy/docker/Dockerfile',
      ...engine.buildFlags,
      `--tag=${image}`,
      '.',
    );
  });
  after(() => engine?.close());

  test('adds less than 15 MB to the image that it begins with', async (context) => {
    const history = await engine.run('history', '--format={{.Size}} {{.CreatedBy}}', image);
    const layers = history.split('\n');
    const own = layers.slice(0, layers.findIndex((layer) => layer.includes('LABEL')) + 1);
    const units = new Map([
      ['kB', 1e3],
      ['MB', 1e6],
    ]);
    const bytes = own.reduce((sum, layer) => {
      const [, size, unit = ''] = /^([\d.]+) ?(\w+)/.exec(layer) ?? [];
      return sum + Number(size) * (units.get(unit) ?? (unit === 'B' ? 1 : Infinity));
    }, 0);
    context.diagnostic(`${(bytes / 1e6).toFixed(1)} MB`);
    assert.ok(bytes > 1e6 && bytes < 15e6, history);
  });

  for (const manifest of [
    'deploy/kubernetes/mixed-version-proxy.yaml',
    'deploy/static-pod/mixed-version-proxy.yaml',
  ]) {
    test(`routes, keeps its snapshot and ends with 0, with no more rights than ${manifest} gives it`, async (context) => {
      const container = routerContainer(manifest);
      const { origin, admin, state, flags } = await prepare(context, container);
      const name = `mixed-version-proxy-test-${basename(dirname(manifest))}-${process.pid}`;
      context.after(() => engine.run('rm', '--force', name));
      await engine.run('run', '--detach', `--name=${name}`, ...flags, image, ...container.args);

      await waitUntil('/readyz says 200', async () => {
        const { statusCode } = await tlsRequest(`${origin}/readyz`, { ca: admin.ca });
        return statusCode === 200;
      }).catch(async (cause: unknown) => {
        throw new Error(await engine.run('logs', name), { cause });
      });
      assert.equal((await tlsRequest(`${origin}/livez`, { ca: admin.ca })).statusCode, 200);
      assert.equal((await tlsRequest(`${origin}/api/v1/namespaces`, admin)).statusCode, 200);
      assert.equal((await stat(join(state, 'snapshot'))).mode & 0o777, 0o600);

      // As `kubectl exec` does: by its name.
      const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
        version: string;
      };
      const printed = await engine.run('exec', name, 'mixed-version-proxy', 'version');
      assert.equal(printed.split('\n')[0], `mixed-version-proxy v${version}`);
      const print = (expression: string) =>
        engine.run('exec', name, '/nodejs/bin/node', '--print', expression);
      assert.equal(await print(notOfRoot), '');
      const { heap, ...rights } = JSON.parse(await print(rightsInside)) as { heap: number };
      assert.deepEqual(rights, {
        user: container.user,
        capabilities: '0'.repeat(16),
        gainsNothing: '1',
        root: 'EROFS',
        memory: container.memory,
      });
      // Half of the limit, and what V8 keeps for its young objects.
      assert.ok(heap >= container.memory / 2 && heap < container.memory * 0.7, String(heap));

      await engine.run('stop', '-t', String(container.grace), name);
      assert.equal(await engine.run('inspect', '--format={{.State.ExitCode}}', name), '0');
    });
  }
});

/** An API server, a sync job that pushes to the router, and what the router's volumes hold. */
async function prepare(context: TestContext, container: RouterContainer) {
  const directory = await temporaryDirectory(context);
  const path = (name: string) => join(directory, name);
  const certificates = await createDemoCertificates(path('config'));
  const apiServer = await startExampleApiServer({
    ...(await sharedByServers(certificates)),
    version: '1.36',
    name: 'control-plane',
  });
  context.after(() => apiServer.close());

  const port = await freePort();
  const origin = `https://127.0.0.1:${port}`;
  await generateKeyFiles(path('keys'), 'EdDSA');
  await copyFile(join(path('keys'), publicKeysFile), join(path('config'), publicKeysFile));
  const configuration = {
    apiVersion: 'mixed-version-proxy/v1alpha1',
    kind: 'RouterConfiguration',
    gateway: true,
    serving: { bindAddress: '127.0.0.1', port, certFile: 'router.crt', keyFile: 'router.key' },
    authentication: { clientCAFile: 'cluster-ca.crt' },
    peers: { caFile: 'cluster-ca.crt', allowLoopback: true },
    frontProxy: { certFile: 'front-proxy-client.crt', keyFile: 'front-proxy-client.key' },
    snapshot: { keysFile: publicKeysFile, file: join(container.stateDirectory, 'snapshot') },
  };
  await writeFile(join(path('config'), basename(container.configFile)), stringify(configuration));
  // Root without a capability reads what everybody may read; a kubelet would set the group of the volumes.
  for (const file of await readdir(path('config'))) await chmod(join(path('config'), file), 0o644);
  await chmod(path('config'), 0o755);
  await mkdir(path('state'));
  await chmod(path('state'), 0o777);

  const { serverId: id, url } = apiServer;
  const endSync = await startDemoSync({
    signingKey: join(path('keys'), signingKeyFile),
    servers: [{ id, url, hostname: 'control-plane' }],
    targets: [{ url: origin }],
    certificates,
    logger: silentLogger,
  });
  context.after(endSync);

  return {
    origin,
    admin: credentialsOf(certificates.clusterCa, certificates.admin),
    state: path('state'),
    flags: [
      '--network=host',
      ...container.rights,
      `--volume=${path('config')}:${dirname(container.configFile)}:ro`,
      `--volume=${path('state')}:${container.stateDirectory}`,
    ],
  };
}
