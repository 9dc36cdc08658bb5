/**
 * How long a start of the Worker takes in workerd, beside one that does nothing: from the start of the process to its
 * first answer, a new process each time, in turn. Its first request is one for a resource, which needs the entry alone,
 * or one that needs the handler chain as well. Prints medians of the time that passed and of the CPU time of all
 * threads, which a busy machine changes less, for docs/guides/edge.md. Linux only.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateSigningKey } from '../../src/snapshot/signing/signing-key.ts';
import { freePort } from '../harness/free-port.ts';
import { lifeOf } from '../harness/process-life.ts';
import { spreadOf } from '../harness/statistics.ts';
import { bundleWorker, entryModule } from '../worker/bundle-worker.ts';

// CommonJS whose one export is the path of the binary, under `default`.
const { default: workerd } = createRequire(import.meta.url)('workerd') as { default: string };
const rounds = Number(process.argv[2] ?? 15);
const { publicJwk } = await generateSigningKey('EdDSA');
const router = Object.fromEntries((await bundleWorker()).map(({ name, contents }) => [name, contents]));
const empty = { [entryModule]: 'export default { fetch: () => new Response("ok") };' };

const starts = [
  { name: 'empty', modules: empty, path: '/livez' },
  { name: 'router, resource', modules: router, path: '/api/v1/pods' },
  { name: 'router, health', modules: router, path: '/livez' },
].map((start) => ({ ...start, startUps: [] as StartUp[] }));
for (let round = 0; round < rounds; round++) {
  for (const { modules, path, startUps } of starts) startUps.push(await startUp(modules, path));
}
for (const { name, startUps } of starts) {
  const passed = spreadOf(startUps.map(({ milliseconds }) => milliseconds));
  const used = spreadOf(startUps.map(({ cpuMilliseconds }) => cpuMilliseconds));
  const figures = `${passed?.median.toFixed(1)} ms, CPU ${used?.median.toFixed(1)} ms`;
  console.log(`${name.padEnd(16)} ${figures} (medians of ${rounds})`);
}

/** From the start of workerd to the whole answer to the first request. */
interface StartUp {
  readonly milliseconds: number;
  readonly cpuMilliseconds: number;
}

async function startUp(
  modules: Readonly<Record<string, string | Uint8Array>>,
  path: string,
): Promise<StartUp> {
  const directory = mkdtempSync(join(tmpdir(), 'worker-startup-'));
  const port = await freePort();
  for (const [name, contents] of Object.entries(modules)) writeFileSync(join(directory, name), contents);
  writeFileSync(join(directory, 'config.capnp'), configuration(Object.keys(modules), port));
  const begun = performance.now();
  const child = spawn(workerd, ['serve', 'config.capnp'], { cwd: directory, stdio: 'ignore' });
  const life = lifeOf(child);
  try {
    const milliseconds = await untilAnswered(`http://127.0.0.1:${port}${path}`, begun);
    return { milliseconds, cpuMilliseconds: cpuMillisecondsOf(child.pid) };
  } finally {
    await life.kill();
    rmSync(directory, { recursive: true });
  }
}

/** Of all threads that are alive: the first number of each `schedstat` is nanoseconds on a CPU (proc(5)). */
function cpuMillisecondsOf(pid: number | undefined): number {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks)
    .map((task) => Number(readFileSync(join(tasks, task, 'schedstat'), 'utf8').split(' ', 1)[0]) / 1e6)
    .reduce((sum, each) => sum + each, 0);
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
  const texts = Object.entries(variables).map(
    ([name, text]) => `(name = "${name}", text = ${JSON.stringify(text)})`,
  );
  // The local server is another Worker: what is measured ends at the door.
  const bindings = [...texts, '(name = "DESTINATIONS", service = "server")'].join(', ');
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main), (name = "server", worker = .server)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]);
const main :Workerd.Worker = (compatibilityDate = "2026-10-20", modules = [${modules}], bindings = [${bindings}]);
const server :Workerd.Worker = (compatibilityDate = "2026-10-20", modules = [
  (name = "server.js", esModule = "export default { fetch: () => new Response('ok') };")]);
`;
}
