import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type BuildOptions, type BuildResult, build, type Plugin } from 'esbuild';

const root = join(import.meta.dirname, '..', '..');

const entrySource = 'src/edge/worker/index.ts';

/** The Worker's entry (decisions/0008-worker-modules.md). */
export const entryModule = 'index.js';

/** A module of the bundle, as it is uploaded. */
export interface WorkerModule {
  /** `index.js`, or `<name>-<hash>.js`. */
  readonly name: string;
  readonly contents: Uint8Array;
  /** As the entry imports it: with the entry (true), or later. */
  readonly loadedWithEntry: boolean;
  /** Names of the modules that are loaded with it. */
  readonly imports: readonly string[];
  readonly bytes: number;
  readonly gzippedBytes: number;
  /** Source files in it, relative to the repository, by the bytes they take. */
  readonly inputs: ReadonlyMap<string, number>;
}

/**
 * Bundles the Worker into ES modules: the entry, and one for each part that only some requests need. The runtime
 * compiles a module when it is imported, so that a start pays for the entry alone.
 */
export async function bundleWorker(): Promise<readonly WorkerModule[]> {
  const { parts, program } = await firstLookAtWorker();
  const result = await build({
    ...workerOptions,
    define: { workerProgram: JSON.stringify(program) },
    chunkNames: '[name]-[hash]',
    minify: true,
    keepNames: false,
    legalComments: 'none',
    plugins: [partsAfterApp(parts), templatesApart],
  });
  return modulesOf(result);
}

const workerOptions = {
  absWorkingDir: root,
  entryPoints: [{ in: entrySource, out: 'index' }],
  outdir: 'dist-worker',
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'es2024',
  conditions: ['workerd', 'worker', 'browser'],
  external: ['cloudflare:*'],
  write: false,
  metafile: true,
  logLevel: 'silent',
} satisfies BuildOptions & { write: false; metafile: true };

interface FirstLook {
  /**
   * Source files that are imported only when they are needed, but for what the entry itself loads. Known before the bundle is
   * made: some are imported at once elsewhere, and which import esbuild meets first is chance.
   */
  readonly parts: ReadonlySet<string>;
  /** Names the program: a digest of all its code (src/edge/snapshot/snapshot-keeping.ts). */
  readonly program: string;
}

async function firstLookAtWorker(): Promise<FirstLook> {
  const { metafile, outputFiles } = await build(workerOptions);
  const hash = createHash('sha256');
  for (const { text } of outputFiles) hash.update(text);
  const parts = new Set(
    Object.entries(metafile.inputs)
      .filter(([input]) => input !== entrySource)
      .flatMap(([, { imports }]) => imports)
      .filter(({ kind, external }) => kind === 'dynamic-import' && external !== true)
      .map(({ path }) => join(root, path)),
  );
  return { parts, program: hash.digest('base64url').slice(0, 16) };
}

/**
 * The app's later parts are loaded after the app. To tell esbuild so, each part imports the app: what both need then stays in
 * one module, and is not cut into one for every set of parts that share it.
 */
function partsAfterApp(parts: ReadonlySet<string>): Plugin {
  return {
    name: 'parts after the app',
    setup({ onLoad }) {
      const app = join(root, 'src/edge/worker/worker-app.ts');
      onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        if (!parts.has(path)) return undefined;
        const contents = `import ${JSON.stringify(app)};\n${await readFile(path, 'utf8')}`;
        return { contents, loader: 'ts' };
      });
    },
  };
}

/**
 * hono's templates, which the status page is written in, stand in one file with what its Context uses. A copy of the file goes
 * with the page, so that the app's has no templates.
 */
const templatesApart: Plugin = {
  name: 'templates apart',
  setup({ onResolve, resolve }) {
    onResolve({ filter: /\/utils\/html\.js$/ }, async ({ path, pluginData, ...from }) => {
      if (!from.importer.includes('/hono/dist/helper/html/') || pluginData === templatesApart)
        return undefined;
      const { path: file } = await resolve(path, { ...from, pluginData: templatesApart });
      return { path: file, suffix: '?templates' };
    });
  },
};

function modulesOf({
  outputFiles = [],
  metafile,
}: BuildResult<{ write: false; metafile: true }>): WorkerModule[] {
  const outputs = metafile.outputs;
  const withEntry = new Set<string>();
  const pending = [`dist-worker/${entryModule}`];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (withEntry.has(path)) continue;
    withEntry.add(path);
    for (const { path: imported, kind } of outputs[path]?.imports ?? []) {
      if (kind === 'import-statement') pending.push(imported);
    }
  }
  return outputFiles
    .map(({ path, contents }): WorkerModule => {
      const output = relative(root, path);
      const inputs = Object.entries(outputs[output]?.inputs ?? {});
      return {
        name: relative(join(root, 'dist-worker'), path),
        contents,
        loadedWithEntry: withEntry.has(output),
        imports: (outputs[output]?.imports ?? [])
          .filter(({ kind }) => kind === 'import-statement')
          .map(({ path: imported }) => relative('dist-worker', imported)),
        bytes: contents.byteLength,
        gzippedBytes: gzipSync(contents, { level: 9 }).byteLength,
        inputs: new Map(inputs.map(([input, { bytesInOutput }]) => [input, bytesInOutput])),
      };
    })
    .sort(
      (left, right) =>
        Number(right.loadedWithEntry) - Number(left.loadedWithEntry) || right.bytes - left.bytes,
    );
}
