/**
 * Bundles the command into `dist/command`: `main.js` with a module for each part that only some calls need, and a single
 * file for each command that the launcher starts by itself. Finding and linking 40 to 80 files took a fifth of the CPU time
 * of `status` and a third of that of `serve`. These files are CommonJS: for an ES module Node reads every export of each of
 * its own modules, which loads more of them (0.02 s). Of the time that `status` takes, 0.07 s
 * are Node's own start and the root certificates that it loads with `node:tls`. The package and the image have all of the
 * files: `npm run build`.
 */
import { join, resolve } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';

const root = resolve(import.meta.dirname, '../..');

/**
 * The whole of undici is 1.4 MB (fetch, WebSockets, caches, mocks): the transport needs its pool of HTTP/1.1 connections.
 * A part that is not named here is missing in the bundle, which the build reports.
 */
const undiciParts: Plugin = {
  name: 'undici-parts',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^undici$/ }, ({ path }) => ({ path, namespace: 'undici-parts' }));
    onLoad({ filter: /.*/, namespace: 'undici-parts' }, () => ({
      resolveDir: root,
      contents: `
        export { default as Client } from 'undici/lib/dispatcher/client.js';
        export { default as Pool } from 'undici/lib/dispatcher/pool.js';
        export { default as Dispatcher } from 'undici/lib/dispatcher/dispatcher.js';
        export { default as errors } from 'undici/lib/core/errors.js';
      `,
    }));
  },
};

/** `<name>.cjs` has no other command in it: the launcher starts `main.js` for those. */
const alone = (name: string): Plugin => ({
  name: 'alone',
  setup({ onResolve }) {
    onResolve({ filter: /\.ts$/ }, ({ kind, importer, path }) => {
      const isCommand = kind === 'dynamic-import' && importer.endsWith('/src/cli/run-command-line.ts');
      if (!isCommand || path.startsWith(`./${name}/`) || path.startsWith('./terminal/')) return undefined;
      return { path: './main.js', external: true };
    });
  },
});

const options = {
  absWorkingDir: root,
  bundle: true,
  // Names stay: an error's stack is read by people.
  minifyWhitespace: true,
  platform: 'node',
  target: 'node26',
  logLevel: 'warning',
} satisfies BuildOptions;

/** @param directory where the folder `command` is to be */
export async function bundleCommand(directory: string): Promise<void> {
  const outdir = join(directory, 'command');
  await build({
    ...options,
    entryPoints: ['src/cli/main.ts'],
    outdir,
    format: 'esm',
    // Dependencies in CommonJS ask Node for `require`.
    banner: { js: "import{createRequire}from'node:module';const require=createRequire(import.meta.url);" },
    splitting: true,
    chunkNames: '[name]-[hash]',
    plugins: [undiciParts],
  });
  for (const name of ['serve', 'status', 'explain']) {
    await build({
      ...options,
      entryPoints: [{ in: 'src/cli/main.ts', out: name }],
      outdir,
      outExtension: { '.js': '.cjs' },
      format: 'cjs',
      define: { 'import.meta.dirname': '__dirname' },
      plugins: [undiciParts, alone(name)],
    });
  }
}

if (import.meta.main) await bundleCommand(join(root, 'dist'));
