/** Floods of one attacker, and what another client notices: `npm run lab -- floods`, lab/bench/results/floods.md. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type ClientHttp2Session, connect } from 'node:http2';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCertificateAuthority } from '../../demo/certificate-authority.ts';
import { type Child, type Command, startChild } from '../../test/support/commands/child-process.ts';
import { findProgram } from '../../test/support/commands/find-program.ts';
import { freePort } from '../../test/support/free-port.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { type Cleanup, withCleanup } from '../harness/cleanup.ts';
import { countFrom, runExperiment, secondsFrom } from '../harness/command-line.ts';
import { usageOf } from '../harness/process-usage.ts';
import { median } from '../harness/statistics.ts';
import { markdownTable } from '../report/text-table.ts';
import { type Flood, floods } from './floods.ts';
import { attackWholeRouters } from './whole-router.ts';

/** KiB that a server may have in memory: beyond, it is ended, as a container would be. */
const memoryLimit = 512 * 1024;

interface Contender {
  readonly title: string;
  readonly command: (port: number) => Command;
}

interface Finding {
  /** KiB before, at the most, and two seconds after the flood. */
  readonly resident: readonly [number, number, number];
  /** Milliseconds that another client waited for its answers; `undefined` where none came. */
  readonly median: number | undefined;
  readonly most: number | undefined;
  readonly written: number;
  readonly connections: number;
  readonly isEnded: boolean;
}

await runExperiment(
  'floods',
  {
    seconds: { type: 'string', default: '3', value: 'N', about: 'of each flood' },
    against: {
      type: 'string',
      value: 'TREE',
      about: 'a checkout of an earlier revision with its node_modules, measured too',
    },
    only: { type: 'string', value: 'TEXT', about: 'floods whose titles hold it' },
    memory: {
      type: 'string',
      value: 'N,…',
      about:
        'attacks on a whole router in place of the floods, in cgroups of so many MiB, such as 512,2048; Linux',
    },
    attacks: {
      type: 'string',
      default: '',
      value: 'N1,…',
      about: 'only these; with + between them one after the other',
    },
    tunnels: { type: 'string', default: '2000', value: 'N', about: 'honest port-forwards beside them' },
    watches: { type: 'string', default: '50', value: 'N', about: 'honest watches' },
    rest: { type: 'string', default: '60', value: 'N', about: 'seconds after the last attack' },
  },
  ({ memory, ...given }) =>
    withCleanup(async (cleanup) => {
      const milliseconds = 1_000 * secondsFrom('seconds', given.seconds);
      const rows =
        memory === undefined
          ? await floodServers(milliseconds, given.against, given.only, cleanup)
          : await attackWholeRouters(
              {
                sizes: memory.split(',').map((size) => countFrom('memory', size)),
                seconds: milliseconds / 1_000,
                tunnels: countFrom('tunnels', given.tunnels, 0),
                watches: countFrom('watches', given.watches, 0),
                rest: secondsFrom('rest', given.rest),
                only: given.attacks.split(',').filter(Boolean),
                trees: {
                  now: resolve(import.meta.dirname, '../..'),
                  ...(given.against === undefined ? {} : { before: resolve(given.against) }),
                },
              },
              cleanup,
            );
      console.log(markdownTable(rows));
      return 0;
    }),
);

async function floodServers(
  milliseconds: number,
  against: string | undefined,
  only: string | undefined,
  cleanup: Cleanup,
): Promise<string[][]> {
  const directory = await certificates(cleanup);
  const upstream = await freePort();
  const hostile = await startChild({
    executable: process.execPath,
    arguments: [join(import.meta.dirname, 'hostile-upstream.ts'), String(upstream), directory],
  });
  cleanup.add(() => hostile.stop());
  const contenders = contendersFor(directory, upstream, against);
  const rows = [
    ['flood', 'server', 'written', 'connections', 'MiB before, most, after', 'median ms', 'most ms'],
  ];
  for (const [index, flood] of floods.entries()) {
    if (!flood.title.includes(only ?? '')) continue;
    for (const contender of contenders) {
      const finding = await withCleanup((each) => measure(each, contender, index, milliseconds));
      rows.push(rowOf(flood, contender, finding));
      console.error(rows.at(-1)?.join('  '));
    }
  }
  return rows;
}

async function certificates(cleanup: Cleanup): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-floods-'));
  cleanup.add(() => rm(directory, { recursive: true }));
  const authority = await createCertificateAuthority('floods');
  const { certificate, privateKey } = await authority.issue({
    commonName: 'localhost',
    usage: 'server',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
  });
  await writeFile(join(directory, 'ca.crt'), authority.certificate);
  await writeFile(join(directory, 'serving.crt'), certificate);
  await writeFile(join(directory, 'serving.key'), privateKey);
  await writeFile(join(directory, 'serving.pem'), certificate + privateKey);
  return directory;
}

function contendersFor(directory: string, upstream: number, against: string | undefined): Contender[] {
  const script = join(import.meta.dirname, 'server.ts');
  const node = (title: string, kind: string, ...tree: string[]): Contender => ({
    title,
    command: (port) => ({
      executable: process.execPath,
      arguments: [
        '--max-old-space-size=384',
        script,
        kind,
        String(port),
        directory,
        String(upstream),
        ...tree,
      ],
    }),
  });
  const haproxy = findProgram('haproxy');
  return [
    node('router', 'router'),
    ...(against === undefined ? [] : [node('router before', 'router', against)]),
    node("Node's http2", 'node'),
    ...(haproxy === undefined ? [] : [haproxyIn(haproxy, directory, upstream)]),
  ];
}

function haproxyIn(executable: string, directory: string, upstream: number): Contender {
  const configuration = (port: number): string => `
global
  nbthread 1
  maxconn 4000
defaults
  mode http
  timeout connect 10s
  timeout client 1h
  timeout server 1h
  timeout http-request 60s
frontend clients
  bind 127.0.0.1:${port} ssl crt ${join(directory, 'serving.pem')} alpn h2,http/1.1
  http-request return status 200 content-type text/plain string fine unless { path_beg /hostile/ }
  default_backend hostile
backend hostile
  server hostile 127.0.0.1:${upstream} ssl verify none
`;
  return {
    title: 'HAProxy',
    command(port) {
      const file = join(directory, `haproxy-${port}.cfg`);
      return {
        executable: 'sh',
        arguments: [
          '-c',
          `cat > ${file} <<'END'\n${configuration(port)}\nEND\nexec ${executable} -db -f ${file}`,
        ],
      };
    },
  };
}

async function measure(
  cleanup: Cleanup,
  { command }: Contender,
  index: number,
  milliseconds: number,
): Promise<Finding> {
  const port = await freePort();
  const server = await startChild(command(port));
  cleanup.add(() => server.stop());
  await waitUntil('the server', async () => (await timeOfOne(port)) !== undefined);
  const before = (await usageOf(server.pid)).resident;
  const memory = watchMemory(server, cleanup);
  const attacker = await startChild({
    executable: process.execPath,
    arguments: [join(import.meta.dirname, 'attack.ts'), String(port), String(index), String(milliseconds)],
  });
  cleanup.add(() => attacker.stop());
  const times = await timesWhile(port, attacker);
  const { output } = await attacker.ended;
  const { written, connections } = JSON.parse(output);
  await sleep(2_000);
  const after = (await usageOf(server.pid)).resident;
  return {
    resident: [before, memory.most(), after],
    median: times.length === 0 ? undefined : median(times),
    most: times.length === 0 ? undefined : Math.max(...times),
    written,
    connections,
    isEnded: memory.isEnded(),
  };
}

function watchMemory(server: Child, cleanup: Cleanup): { most(): number; isEnded(): boolean } {
  let most = 0;
  let isEnded = false;
  const timer = setInterval(async () => {
    const { resident } = await usageOf(server.pid);
    most = Math.max(most, resident);
    if (resident <= memoryLimit || isEnded) return;
    isEnded = true;
    process.kill(server.pid, 'SIGKILL');
  }, 50);
  cleanup.add(() => clearInterval(timer));
  return { most: () => most, isEnded: () => isEnded };
}

/** Requests of another client, on its own connection, one after the other until the attacker has ended. */
async function timesWhile(port: number, attacker: Child): Promise<number[]> {
  const times: number[] = [];
  let isOver = false;
  void attacker.ended.then(() => {
    isOver = true;
  });
  let session = sessionTo(port);
  while (!isOver) {
    const time = await timeOn(session);
    if (time === undefined) {
      session.destroy();
      session = sessionTo(port);
    } else times.push(time);
    await sleep(5);
  }
  session.destroy();
  return times;
}

async function timeOfOne(port: number): Promise<number | undefined> {
  const session = sessionTo(port);
  const time = await timeOn(session);
  session.destroy();
  return time;
}

function sessionTo(port: number): ClientHttp2Session {
  return connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false }).on('error', () => {});
}

/** @returns milliseconds to the end of a response; `undefined` where there was none within five seconds */
function timeOn(session: ClientHttp2Session): Promise<number | undefined> {
  const { promise, resolve } = Promise.withResolvers<number | undefined>();
  if (session.destroyed || session.closed) return Promise.resolve(undefined);
  const begun = performance.now();
  const stream = session.request({ ':path': '/' });
  const late = setTimeout(() => stream.destroy(), 5_000);
  let hasResponded = false;
  stream.on('response', () => {
    hasResponded = true;
  });
  stream.on('error', () => {});
  stream.on('close', () => {
    clearTimeout(late);
    resolve(hasResponded ? performance.now() - begun : undefined);
  });
  stream.resume().end();
  return promise;
}

function rowOf(flood: Flood, { title }: Contender, finding: Finding): string[] {
  const { resident, written, connections, isEnded } = finding;
  const milliseconds = (value: number | undefined): string =>
    value === undefined ? 'none' : value.toFixed(1);
  return [
    flood.title,
    title,
    `${written.toLocaleString('en-US')} ${flood.unit}`,
    connections.toLocaleString('en-US'),
    resident.map((kibibytes) => (kibibytes / 1_024).toFixed(0)).join(', ') +
      (isEnded ? ', ended at 512' : ''),
    milliseconds(finding.median),
    milliseconds(finding.most),
  ];
}
