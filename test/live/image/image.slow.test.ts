import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, copyFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { before, describe, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import * as v from 'valibot';
import { parseAllDocuments, stringify } from 'yaml';
import { createDemoCertificates } from '../../../demo/certificates.ts';
import { sharedByServers } from '../../../demo/cluster.ts';
import { startExampleApiServer } from '../../../demo/example-api-server/index.ts';
import { startDemoSync } from '../../../demo/sync.ts';
import { freePort } from '../../../scripts/harness/free-port.ts';
import { waitUntil } from '../../../scripts/harness/wait-until.ts';
import { generateKeyFiles, publicKeysFile, signingKeyFile } from '../../../src/cli/commands/keygen.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { credentialsOf, tlsRequest } from '../tls-request.ts';

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
  const user = [securityContext.runAsUser ?? pod.securityContext.runAsUser, securityContext.runAsGroup];
  return {
    args,
    configFile,
    stateDirectory: mountOf('state'),
    rights: [
      '--read-only',
      '--cap-drop=ALL',
      '--security-opt=no-new-privileges',
      `--user=${user.filter((id) => id !== undefined).join(':')}`,
      // What Kubernetes calls Gi, these call g.
      `--memory=${resources.limits.memory.replace('i', '').toLowerCase()}`,
    ],
    grace: pod.terminationGracePeriodSeconds,
  };
}

const run = promisify(execFile);

/** What the environment names: docker or podman, and images in place of those that the Dockerfile begins with. */
const engine = process.env['TEST_ASSET_CONTAINER_ENGINE'] ?? '';
const buildArguments = Object.entries({
  NODE_IMAGE: process.env['TEST_ASSET_NODE_IMAGE'] ?? '',
  RUNTIME_IMAGE: process.env['TEST_ASSET_RUNTIME_IMAGE'] ?? '',
}).flatMap(([name, image]) => (image === '' ? [] : [`--build-arg=${name}=${image}`]));

/** What a command of the engine prints. @throws with what it says when it fails */
async function runEngine(...args: readonly string[]): Promise<string> {
  const { stdout } = await run(engine, [...args], { cwd: root, maxBuffer: 64 * 1024 * 1024 });
  return stdout.trim();
}

/** Builds the image from the checkout. @returns its name */
async function buildImage(): Promise<string> {
  const image = 'localhost/mixed-version-proxy:test';
  await runEngine('build', '--file=deploy/docker/Dockerfile', ...buildArguments, `--tag=${image}`, '.');
  return image;
}

/** Prints what of the program its user could change. */
const notOfRoot =
  "['', ...fs.readdirSync('/app', { recursive: true })].filter((path) => fs.lstatSync('/app/' + path).uid !== 0).join()";

describe('the image', {
  skip: engine === '' && 'no container engine given (TEST_ASSET_CONTAINER_ENGINE)',
}, () => {
  let image: string;
  before(async () => {
    image = await buildImage();
  });

  for (const manifest of [
    'deploy/kubernetes/mixed-version-proxy.yaml',
    'deploy/static-pod/mixed-version-proxy.yaml',
  ]) {
    test(`routes, keeps its snapshot and ends with 0, with no more rights than ${manifest} gives it`, async (context) => {
      const container = routerContainer(manifest);
      const { origin, admin, state, start } = await prepare(context, container);
      const name = `mixed-version-proxy-test-${basename(dirname(manifest))}-${process.pid}`;
      context.after(() => runEngine('rm', '--force', name));
      await start(name, image);

      await waitUntil('/readyz says 200', async () => {
        const { statusCode } = await tlsRequest(`${origin}/readyz`, { ca: admin.ca });
        return statusCode === 200;
      }).catch(async (cause: unknown) => {
        throw new Error(await runEngine('logs', name), { cause });
      });
      assert.equal((await tlsRequest(`${origin}/livez`, { ca: admin.ca })).statusCode, 200);
      assert.equal((await tlsRequest(`${origin}/api/v1/namespaces`, admin)).statusCode, 200);
      assert.equal((await stat(join(state, 'snapshot'))).mode & 0o777, 0o600);

      const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
        version: string;
      };
      const printed = await runEngine('exec', name, 'mixed-version-proxy', 'version');
      assert.equal(printed.split('\n')[0], `mixed-version-proxy v${version}`);
      assert.equal(await runEngine('exec', name, '/nodejs/bin/node', '--print', notOfRoot), '');

      await runEngine('stop', '-t', String(container.grace), name);
      assert.equal(await runEngine('inspect', '--format={{.State.ExitCode}}', name), '0');
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
    start: (name: string, image: string) =>
      runEngine(
        'run',
        '--detach',
        `--name=${name}`,
        '--network=host',
        ...container.rights,
        `--volume=${path('config')}:${dirname(container.configFile)}:ro`,
        `--volume=${path('state')}:${container.stateDirectory}`,
        image,
        ...container.args,
      ),
  };
}
