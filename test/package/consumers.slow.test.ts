// The package as five kinds of programs get it: installed beside nothing but what it names, compiled with every declaration
// checked, and run.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { build } from 'esbuild';
import { type MadePackage, makePackage, root } from '../../scripts/package/make-package.ts';
import { runtimeFile, startMiniflare } from '../../scripts/runtimes/index.ts';
import { unpack } from './unpack.ts';

const tool = (path: string) => join(root, 'node_modules', path);

/** A Hono app that uses the middleware, and has the router under a path. */
const library = `
import { Hono } from 'hono';
import { type AppOptions, buildRoutingTable, createApp, createFetchTransport, type HandlerEnvironment, mixedVersionProxy, snapshotOf } from 'mixed-version-proxy';

const table = buildRoutingTable(
  await snapshotOf({
    old: { address: '10.0.0.1:6443', serves: ['v1/pods'] },
    new: { address: '10.0.0.2:6443', serves: ['v1/pods', 'batch/v1/jobs'] },
  }),
);
const options: AppOptions = {
  local: {
    kind: 'local',
    id: 'old',
    origin: 'https://10.0.0.1:6443',
    serverName: 'kubernetes.default.svc',
    trust: { kind: 'peer-ca' },
  },
  routingTable: { current: () => table },
  transport: createFetchTransport({ fetch: async ({ url }) => new Response(url) }),
};
const app = new Hono<HandlerEnvironment>();
app.route('/k8s', createApp(options));
app.use(mixedVersionProxy(options));
app.get('/api/v1/pods', (context) => context.text(context.var.caller.kind));
const texts: string[] = [];
for (const path of ['/k8s/apis/batch/v1/jobs', '/apis/batch/v1/jobs', '/api/v1/pods']) {
  const response = await app.request(\`https://program.example\${path}\`);
  texts.push(await response.text());
}
console.log(texts.join(' '));
`;
const printed =
  'https://10.0.0.2:6443/apis/batch/v1/jobs https://10.0.0.2:6443/apis/batch/v1/jobs passthrough\n';

/** A Worker of one's own, whose isolates share their snapshot. */
const ownWorker = `
import { Hono } from 'hono';
import { createAddressPolicy, createApp, createFetchTransport, parseSnapshotKeys } from 'mixed-version-proxy';
import { createSharedSnapshots, SnapshotObject, WorkerInboundRequest } from 'mixed-version-proxy/worker';

export { SnapshotObject };
interface Env {
  readonly SNAPSHOT_OBJECT: DurableObjectNamespace;
}

async function start({ SNAPSHOT_OBJECT: object }: Env) {
  const parsed = await parseSnapshotKeys('{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"a","alg":"EdDSA"}]}');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.issues));
  const { receiver, beforeRequest } = await createSharedSnapshots({
    keys: parsed.keys,
    addressPolicy: createAddressPolicy(),
    object,
  });
  const router = createApp({
    routingTable: receiver,
    transport: createFetchTransport(),
    inbound: (request) => new WorkerInboundRequest(request, {}),
  });
  return { app: new Hono().route('/k8s', router), beforeRequest };
}

let started: Awaited<ReturnType<typeof start>> | undefined;
export default {
  async fetch(request, env, context) {
    started ??= await start(env);
    await started.beforeRequest(request.method, (promise) => context.waitUntil(promise));
    return started.app.fetch(request, env, context);
  },
} satisfies ExportedHandler<Env>;
`;

describe('a program that installs the package', () => {
  let out: string;
  let made: MadePackage;
  before(async () => {
    out = mkdtempSync(join(tmpdir(), 'consumers-'));
    made = await makePackage(out);
  });
  after(() => rmSync(out, { recursive: true, force: true }));

  /** @param brings further packages, by the name that they have there, and where in the checkout they are */
  function project(
    name: string,
    files: Readonly<Record<string, string>>,
    brings: Readonly<Record<string, string>> = {},
  ): string {
    const directory = join(out, name);
    const modules = join(directory, 'node_modules');
    unpack(made.tarball, join(modules, made.manifest.name));
    const { dependencies, peerDependencies = {} } = made.manifest;
    const installed = new Map<string, string>();
    for (const each of Object.keys({ ...dependencies, ...peerDependencies })) installed.set(each, each);
    for (const [as, from] of Object.entries(brings)) installed.set(as, from);
    for (const [as, from] of installed) {
      mkdirSync(dirname(join(modules, as)), { recursive: true });
      symlinkSync(tool(from), join(modules, as));
    }
    assert.ok(!existsSync(join(modules, '@types')), 'no types but what it brings');
    writeFileSync(join(directory, 'package.json'), JSON.stringify({ type: 'module', private: true }));
    for (const [file, text] of Object.entries(files)) writeFileSync(join(directory, file), text);
    return directory;
  }

  function run(cwd: string, script: string, ...args: readonly string[]): string {
    const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], {
      cwd,
      encoding: 'utf8',
      env: { ...process.env, WRANGLER_SEND_METRICS: 'false' },
    });
    assert.equal(status, 0, `${stdout}${stderr}`);
    return stdout;
  }

  /** Every declaration is checked, those of the package too. */
  function compile(cwd: string, file: string, ...more: readonly string[]): void {
    const strict = ['--noEmit', '--strict', '--target', 'es2024', '--skipLibCheck', 'false'];
    run(cwd, tool('typescript/bin/tsc'), ...strict, ...more, file);
  }

  const nodeNext = ['--module', 'nodenext', '--moduleResolution', 'nodenext'];
  const bundler = ['--module', 'esnext', '--moduleResolution', 'bundler'];
  const dom = ['--lib', 'es2024,dom,dom.iterable', '--types', ''];
  const webworker = ['--lib', 'es2024,webworker,webworker.iterable', '--types', ''];

  test('in TypeScript by Node’s own resolution, without Node’s types', () => {
    const directory = project('nodenext', { 'program.ts': library });
    compile(directory, 'program.ts', ...nodeNext, ...dom);
    assert.equal(run(directory, join(directory, 'program.ts')), printed);
  });

  test('by a bundler, which leaves out what is not used', async () => {
    const directory = project('bundler', {
      'program.ts': library,
      'part.ts': "export { parseRequestInfo } from 'mixed-version-proxy';\n",
    });
    compile(directory, 'program.ts', ...bundler, ...webworker);
    const options = {
      absWorkingDir: directory,
      bundle: true,
      format: 'esm',
      platform: 'neutral',
      minify: true,
    } as const;
    await build({ ...options, entryPoints: ['program.ts'], outfile: join(directory, 'bundle.mjs') });
    assert.equal(run(directory, join(directory, 'bundle.mjs')), printed);
    await build({ ...options, entryPoints: ['part.ts'], outfile: join(directory, 'part.mjs') });
    assert.ok(
      statSync(join(directory, 'part.mjs')).size < 10_000,
      'a part of it brings no more than it needs',
    );
  });

  test('with the oldest hono that it names, of which there is one', () => {
    const directory = project('oldest-hono', { 'program.ts': library }, { hono: 'hono-4.12' });
    compile(directory, 'program.ts', ...nodeNext, ...dom);
    assert.equal(run(directory, join(directory, 'program.ts')), printed);
  });

  test('in JavaScript, as its README begins', () => {
    const readme = readFileSync(join(out, 'package/README.md'), 'utf8');
    const [, program = ''] = /```js\n(.*?)```/s.exec(readme) ?? [];
    assert.ok(
      program.startsWith('import ') && program.split('\n').length <= 26,
      'an import, and some twenty lines',
    );
    const directory = project('javascript', { 'program.mjs': program });
    assert.equal(
      run(directory, join(directory, 'program.mjs')),
      'https://10.0.0.2:6443/apis/batch/v1/jobs\n',
    );
  });

  test('in a Worker of its own, compiled beside the platform’s types', async () => {
    const directory = project(
      'worker',
      { 'worker.ts': ownWorker },
      { '@cloudflare/workers-types': '@cloudflare/workers-types' },
    );
    compile(directory, 'worker.ts', ...bundler, '--lib', 'es2024', '--types', '@cloudflare/workers-types');
    const { outputFiles } = await build({
      absWorkingDir: directory,
      bundle: true,
      format: 'esm',
      platform: 'neutral',
      write: false,
      entryPoints: ['worker.ts'],
      outfile: 'worker.js',
    });
    const options = {
      telemetry: { enabled: false },
      cf: false,
      workers: [
        {
          config: {
            name: 'own',
            compatibilityDate: '2026-10-20',
            manifest: {
              mainModule: 'worker.js',
              modules: { 'worker.js': { type: 'esm', contents: outputFiles[0]?.text } },
            },
            env: { SNAPSHOT_OBJECT: { type: 'durable-object', worker: 'own', exportName: 'SnapshotObject' } },
            exports: { SnapshotObject: { type: 'durable-object', storage: 'sqlite' } },
          },
        },
      ],
    };
    const running = await startMiniflare(options);
    try {
      const statuses: number[] = [];
      for (const path of ['/k8s/livez', '/k8s/readyz', '/elsewhere']) {
        const response = await running.dispatchFetch(`http://own${path}`);
        statuses.push(response.status);
        await response.body?.cancel();
      }
      assert.deepEqual(statuses, [200, 500, 404]);
    } finally {
      await running.dispose();
    }
  });

  test('as a finished Worker, which is uploaded in pieces, as from the checkout', () => {
    const page = readFileSync(join(root, 'docs/guides/edge.md'), 'utf8');
    const [, configuration = ''] = /```toml package\n(.*?)```/s.exec(page) ?? [];
    const directory = project('finished-worker', { 'wrangler.toml': configuration });
    run(directory, runtimeFile('wrangler/bin/wrangler.js'), 'deploy', '--dry-run', '--outdir', 'uploaded');
    const uploaded = readdirSync(join(directory, 'uploaded')).filter((file) => file.endsWith('.js'));
    assert.ok(uploaded.length > 15, uploaded.join(', '));
    assert.ok(
      statSync(join(directory, 'uploaded/index.js')).size < 3_000,
      'a start compiles next to nothing',
    );
  });
});
