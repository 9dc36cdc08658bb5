import { execFile, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, statfs, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '../../../test/support/commands/find-program.ts';

const root = resolve(import.meta.dirname, '../../..');
const execute = promisify(execFile);

/** docker or podman, and how it builds the Dockerfile. */
export interface ContainerEngine {
  /** The output of a command of it. @throws with what the command says when it fails */
  run(...args: readonly string[]): Promise<string>;
  readonly buildFlags: readonly string[];
  close(): Promise<void>;
}

/** An engine that somebody chose, with the images to begin with, if not those that the Dockerfile names. */
const given = {
  engine: process.env['TEST_ASSET_CONTAINER_ENGINE'] ?? '',
  NODE_IMAGE: process.env['TEST_ASSET_NODE_IMAGE'] ?? '',
  RUNTIME_IMAGE: process.env['TEST_ASSET_RUNTIME_IMAGE'] ?? '',
};

/** Why no container can run on this machine; `undefined` where one can. */
export function whyNoContainers(): string | undefined {
  if (given.engine !== '') return undefined;
  const missing = ['podman', 'runc', 'mmdebstrap'].filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) return `no ${missing.join(', no ')}, and no TEST_ASSET_CONTAINER_ENGINE`;
  if (process.getuid?.() !== 0) return 'containers are made by root here, and no TEST_ASSET_CONTAINER_ENGINE';
  const { status } = spawnSync('unshare', ['--mount', '--pid', '--net', '--fork', 'true']);
  return status === 0 ? undefined : 'this machine allows no namespaces';
}

/** The engine that was given; otherwise podman, with images and storage of its own that `close` removes. */
export async function openContainerEngine(): Promise<ContainerEngine> {
  return given.engine === ''
    ? await openOwnPodman()
    : { run: runner(given.engine, {}), buildFlags: imageArguments(given), close: async () => {} };
}

function runner(engine: string, environment: Readonly<Record<string, string>>) {
  return async (...args: readonly string[]): Promise<string> => {
    const env = { ...process.env, ...environment };
    const { stdout } = await execute(engine, [...args], { cwd: root, env, maxBuffer: 64 * 1024 * 1024 });
    return stdout.trim();
  };
}

const imageArguments = (images: { readonly NODE_IMAGE: string; readonly RUNTIME_IMAGE: string }) =>
  (['NODE_IMAGE', 'RUNTIME_IMAGE'] as const).flatMap((name) =>
    images[name] === '' ? [] : [`--build-arg=${name}=${images[name]}`],
  );

async function openOwnPodman(): Promise<ContainerEngine> {
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-podman-'));
  const path = (name: string) => join(directory, name);
  // overlayfs cannot stand on itself, as in a container; copies of whole layers can.
  const overlayFileSystem = 0x794c7630;
  const driver = (await statfs(directory)).type === overlayFileSystem ? 'vfs' : 'overlay';
  await writeFile(
    path('storage.conf'),
    `[storage]\ndriver = "${driver}"\ngraphroot = "${path('store')}"\nrunroot = "${path('run')}"\n`,
  );
  await writeFile(path('containers.conf'), await podmanConfiguration(path('tmp')));
  const run = runner('podman', {
    CONTAINERS_CONF: path('containers.conf'),
    CONTAINERS_STORAGE_CONF: path('storage.conf'),
    BUILDAH_ISOLATION: 'chroot',
    // No copy of the file system after each step: nobody builds twice from this storage.
    BUILDAH_LAYERS: 'false',
  });
  const close = async () => {
    // The storage is a mount of its own as long as there is one.
    spawnSync('umount', [path('store/overlay')]);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const images = await makeBaseImages(path, run);
    const npmCache = (await execute('npm', ['config', 'get', 'cache'])).stdout.trim();
    await mkdir(npmCache, { recursive: true });
    return { run, buildFlags: [...imageArguments(images), `--volume=${npmCache}:/root/.npm`], close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** runc, since crun refuses a machine with both kinds of cgroups; limits that who may not raise any can set. */
async function podmanConfiguration(temporary: string): Promise<string> {
  const limits = await readFile('/proc/self/limits', 'utf8');
  const ulimits = [
    { name: 'nofile', row: 'Max open files' },
    { name: 'nproc', row: 'Max processes' },
  ].map(({ name, row }) => {
    const hard = new RegExp(`^${row} +\\S+ +(\\d+)`, 'm').exec(limits)?.[1];
    const limit = Math.min(Number(hard ?? Infinity), 10_000);
    return `${name}=${limit}:${limit}`;
  });
  return [
    '[containers]',
    `default_ulimits = ${JSON.stringify(ulimits)}`,
    '[engine]',
    'runtime = "runc"',
    'cgroup_manager = "cgroupfs"',
    'events_logger = "file"',
    'lock_type = "file"',
    `tmp_dir = ${JSON.stringify(temporary)}`,
    '',
  ].join('\n');
}

/** Made of Debian's packages and the Node that runs this: like those that the Dockerfile names, of the same Debian. */
async function makeBaseImages(path: (name: string) => string, run: ContainerEngine['run']) {
  const libraries = ['base-files', 'libstdc++6', 'libatomic1', 'tzdata'];
  const tools = ['ca-certificates', 'coreutils', 'dash', 'findutils', 'sed'];
  const [npmDirectory, registry] = await Promise.all([
    execute('npm', ['root', '--global']).then(({ stdout }) => join(stdout.trim(), 'npm')),
    execute('npm', ['config', 'get', 'registry']).then(({ stdout }) => stdout.trim()),
    extractPackages(path('runtime'), libraries),
    extractPackages(path('build'), [...libraries, ...tools]),
  ]);
  for (const name of ['runtime', 'build']) {
    await cp(process.execPath, path(`${name}/nodejs/bin/node`));
  }
  const certificates = 'etc/ssl/certs/ca-certificates.crt';
  await cp(`/${certificates}`, path(`build/${certificates}`));
  await cp(npmDirectory, path('build/nodejs/lib/npm'), { recursive: true });
  await symlink('../lib/npm/bin/npm-cli.js', path('build/nodejs/bin/npm'));

  const NODE_IMAGE = 'localhost/node:test';
  const RUNTIME_IMAGE = 'localhost/node-without-shell:test';
  await writeFile(path('runtime.dockerfile'), 'FROM scratch\nCOPY . /\nUSER 65532\n');
  await writeFile(
    path('build.dockerfile'),
    `FROM scratch\nCOPY . /\nENV PATH=/nodejs/bin:/usr/bin npm_config_registry=${registry} npm_config_cafile=/${certificates}\n`,
  );
  await run('build', `--file=${path('runtime.dockerfile')}`, `--tag=${RUNTIME_IMAGE}`, path('runtime'));
  await run('build', `--file=${path('build.dockerfile')}`, `--tag=${NODE_IMAGE}`, path('build'));
  return { NODE_IMAGE, RUNTIME_IMAGE };
}

async function extractPackages(directory: string, packages: readonly string[]): Promise<void> {
  await execute('mmdebstrap', [
    '--quiet',
    // No script of a package runs, so nothing is set up and nothing is mounted.
    '--variant=extract',
    `--include=${packages.join(',')}`,
    'trixie',
    directory,
  ]);
  // Files of devices cannot be copied into an image; whoever runs it makes its own.
  await rm(join(directory, 'dev'), { recursive: true });
}
