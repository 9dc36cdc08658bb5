/**
 * How long a start of the Worker takes in workerd, beside one that does nothing: from the start of the process to its
 * first answer, a new process each time, the two in turn. Prints medians, for docs/edge.md.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateSigningKey } from '../src/snapshot/signing-key.ts';
import { bundleWorker, entryModule } from './worker/bundle-worker.ts';

// CommonJS whose one export is the path of the binary, under `default`.
const { default: workerd } = createRequire(import.meta.url)('workerd') as { default: string };
const rounds = Number(process.argv[2] ?? 15);
const { publicJwk } = await generateSigningKey('EdDSA');
const router = Object.fromEntries((await bundleWorker()).map(({ name, contents }) => [name, contents]));
const empty = { [entryModule]: 'export default { fetch: () => new Response("ok") };' };

const figures = { empty: [] as number[], router: [] as number[] };
for (let round = 0; round < rounds; round++) {
  figures.empty.push(await startUp(empty));
  figures.router.push(await startUp(router));
}
for (const [name, milliseconds] of Object.entries(figures)) {
  const sorted = milliseconds.toSorted((left, right) => left - right);
  const [fastest = 0] = sorted;
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  console.log(
    `${name.padEnd(8)} median ${median.toFixed(1)} ms, fastest ${fastest.toFixed(1)} ms, of ${rounds}`,
  );
}

/** Milliseconds from the start of workerd to the whole answer to `/livez`. */
async function startUp(modules: Readonly<Record<string, string | Uint8Array>>): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'worker-startup-'));
  const port = await freePort();
  for (const [name, contents] of Object.entries(modules)) writeFileSync(join(directory, name), contents);
  writeFileSync(join(directory, 'config.capnp'), configuration(Object.keys(modules), port));
  const begun = performance.now();
  const child = spawn(workerd, ['serve', 'config.capnp'], { cwd: directory, stdio: 'ignore' });
  try {
    return await untilAnswered(`http://127.0.0.1:${port}/livez`, begun);
  } finally {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill();
    await ended;
    rmSync(directory, { recursive: true });
  }
}

async function untilAnswered(url: string, begun: number): Promise<number> {
  while (performance.now() - begun < 10_000) {
    try {
      const response = await fetch(url);
      const text = await response.text();
      if (response.status !== 200) throw new TypeError(`${response.status} ${text}`);
      return performance.now() - begun;
    } catch (error) {
      if (error instanceof TypeError && error.cause === undefined) throw error;
      // Nobody listens yet.
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
  throw new Error('workerd gave no answer within 10 s');
}

/** `index.js` first: the first module is the entry. */
function configuration(names: readonly string[], port: number): string {
  const modules = [entryModule, ...names.filter((name) => name !== entryModule)]
    .map((name) => `(name = "${name}", esModule = embed "${name}")`)
    .join(', ');
  const variables = {
    SERVER_ID: 'local',
    LOCAL_SERVER: 'https://local.example:6443',
    SNAPSHOT_KEYS: JSON.stringify({ keys: [publicJwk] }),
    LOG_LEVEL: 'none',
  };
  const bindings = Object.entries(variables)
    .map(([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`)
    .join(', ');
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]);
const main :Workerd.Worker = (compatibilityDate = "2026-10-20", modules = [${modules}], bindings = [${bindings}]);
`;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}
