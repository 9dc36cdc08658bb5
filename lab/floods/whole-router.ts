/**
 * Attacks on a whole router in a memory cgroup, with honest clients beside it: `npm run lab -- floods --memory 512,2048`.
 * The router has one API server behind it, which answers at once, holds, denies or keeps silent as the path says.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { createCertificateAuthority } from '../../demo/certificate-authority.ts';
import { createDemoCertificates } from '../../demo/certificates.ts';
import { serveFlags } from '../../demo/routers.ts';
import { generateKeyFiles, publicKeysFile } from '../../src/cli/commands/keygen.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { sealedSnapshotType } from '../../src/snapshot/signing/open-sealed.ts';
import { type Child, startChild } from '../../test/support/commands/child-process.ts';
import { flagArguments } from '../../test/support/commands/command.ts';
import { freePort } from '../../test/support/free-port.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import type { Cleanup } from '../harness/cleanup.ts';
import { HonestClients, type HonestCounts } from './honest-clients.ts';
import { type CgroupUsage, type MemoryCgroup, memoryCgroup } from './memory-cgroup.ts';
import { type RouterAttack, routerAttacks } from './router-attacks.ts';

export interface WholeRouterOptions {
  /** MiB of each cgroup. */
  readonly sizes: readonly number[];
  readonly seconds: number;
  readonly tunnels: number;
  readonly watches: number;
  /** Names of attacks; those that are joined by `+` come one after the other. Default: all, each by itself. */
  readonly only: readonly string[];
  /** Checkouts, by title. */
  readonly trees: Readonly<Record<string, string>>;
  /** Seconds between the last attack and the last look at the memory. */
  readonly rest: number;
}

const columns = [
  'attack',
  'router',
  'MiB',
  'before, most, after',
  'TCP',
  'tunnels',
  'watches',
  'uploads',
  'GETs',
  'ended',
];

/** @returns rows of a table, its head first; without cgroups the head alone */
export async function attackWholeRouters(options: WholeRouterOptions, cleanup: Cleanup): Promise<string[][]> {
  const rows = [columns];
  const world = await openWorld(cleanup);
  for (const attacks of chosen(options.only)) {
    for (const size of options.sizes) {
      for (const [title, tree] of Object.entries(options.trees)) {
        const group = await memoryCgroup(size);
        if (group === undefined) {
          console.error('Skipped: no memory cgroup can be made here');
          return rows;
        }
        rows.push(await attacked(attacks, { title, tree, group, size }, world, options));
        console.error(rows.at(-1)?.join(' | '));
      }
    }
  }
  return rows;
}

function chosen(only: readonly string[]): readonly (readonly RouterAttack[])[] {
  if (only.length === 0) return routerAttacks.map((attack) => [attack]);
  return only.map((names) => routerAttacks.filter(({ name }) => names.split('+').includes(name)));
}

interface World {
  readonly directory: string;
  readonly certificates: Awaited<ReturnType<typeof createDemoCertificates>>;
  readonly apiServer: { readonly serverId: string; readonly url: string };
  readonly snapshotKeys: string;
}

async function openWorld(cleanup: Cleanup): Promise<World> {
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-floods-'));
  cleanup.add(() => rm(directory, { recursive: true, force: true }));
  const certificates = await createDemoCertificates(join(directory, 'pki'));
  const { certificate, privateKey } = certificates.apiServer;
  const server = await startChild({
    executable: process.execPath,
    arguments: [join(import.meta.dirname, 'api-server.ts'), certificate, privateKey],
  });
  cleanup.add(() => server.stop());
  const port = await server.nextLine();
  const keys = join(directory, 'keys');
  await generateKeyFiles(keys, 'EdDSA');
  const snapshotKeys = join(keys, publicKeysFile);
  await writeChain(directory);
  await writeForged(directory, snapshotKeys);
  return {
    directory,
    certificates,
    snapshotKeys,
    apiServer: { serverId: 'a', url: `https://127.0.0.1:${port}` },
  };
}

/** 80 KB of certificates that nobody trusts. */
async function writeChain(directory: string): Promise<void> {
  const stranger = await createCertificateAuthority('stranger');
  const { certificate, privateKey } = await stranger.issue({ commonName: 'nobody', usage: 'client' });
  const each = Buffer.from(stranger.certificate.replace(/-----[^-]+-----|\s/g, ''), 'base64').length;
  const chain = certificate + stranger.certificate.repeat(Math.floor(80_000 / each));
  await writeFile(join(directory, 'chain.pem'), chain);
  await writeFile(join(directory, 'chain.key'), privateKey);
}

/** Names the key that is pinned, as somebody who has seen its ID can, and is not signed by it. */
async function writeForged(directory: string, keysFile: string): Promise<void> {
  const { keys } = JSON.parse(await readFile(keysFile, 'utf8')) as { keys: { kid: string; alg: string }[] };
  const header = JSON.stringify({ alg: keys[0]?.alg, kid: keys[0]?.kid, typ: sealedSnapshotType });
  const text = `${Buffer.from(header).toString('base64url')}.`.padEnd(11 * 1024 * 1024, 'A');
  await writeFile(join(directory, 'forged.jws'), text);
}

interface Setting {
  readonly title: string;
  readonly tree: string;
  readonly group: MemoryCgroup;
  readonly size: number;
}

async function attacked(
  attacks: readonly RouterAttack[],
  { title, tree, group, size }: Setting,
  world: World,
  { seconds, tunnels, watches, rest }: WholeRouterOptions,
): Promise<string[]> {
  const port = await freePort();
  const router = await startRouter(tree, group, port, world);
  const honest = new HonestClients(port, world.certificates.admin);
  let tcp = 0;
  const timer = setInterval(async () => {
    tcp = Math.max(tcp, (await group.usage()).tcp);
  }, 500);
  try {
    await waitUntil('the router', () => isListening(port), { within: 60_000 });
    await honest.open(tunnels, watches);
    const before = await group.usage();
    for (const { name } of attacks) await attackBy(name, port, seconds, world.directory);
    await sleep(1_000);
    const { counts } = honest;
    honest.close();
    const most = await group.usage();
    await sleep(1_000 * rest);
    const after = await group.usage();
    const name = attacks.map((attack) => `${attack.name} ${attack.title}`).join(', then ');
    const usages = [before, most, after] as const;
    return row([name, title, String(size)], usages, tcp, counts, await group.ended());
  } finally {
    clearInterval(timer);
    honest.close();
    await router.stop();
    await group.remove();
  }
}

async function startRouter(tree: string, group: MemoryCgroup, port: number, world: World): Promise<Child> {
  const { apiServer, certificates, snapshotKeys, directory } = world;
  const flags = serveFlags({
    ...{ apiServer, certificates, snapshotKeys, snapshotFile: '', logger: silentLogger },
    flags: { 'secure-port': [String(port)] },
  });
  const given = flagArguments({ ...flags, 'snapshot-file': undefined });
  const command = resolve(tree, 'src/cli/main.ts');
  const words = [process.execPath, '--max-old-space-size-percentage=50', command, 'serve', ...given];
  return startChild({
    executable: 'sh',
    arguments: ['-c', `${group.enter}; exec "$@"`, 'sh', ...words],
    logFile: join(directory, 'router.log'),
  });
}

function isListening(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  const { promise, resolve: decided } = Promise.withResolvers<boolean>();
  socket.once('secureConnect', () => decided(true)).once('error', () => decided(false));
  return promise.finally(() => socket.destroy());
}

async function attackBy(name: string, port: number, seconds: number, directory: string): Promise<void> {
  const script = join(import.meta.dirname, 'router-attacks.ts');
  const attacker = await startChild({
    executable: process.execPath,
    arguments: [script, String(port), name, String(seconds), directory],
  });
  await attacker.ended;
}

function row(
  names: readonly string[],
  usages: readonly [CgroupUsage, CgroupUsage, CgroupUsage],
  tcp: number,
  counts: HonestCounts,
  ended: number,
): string[] {
  const [before, most, after] = usages;
  return [
    ...names,
    `${before.now}, ${most.most}, ${after.now}`,
    String(tcp),
    `${counts.tunnelsLost} of ${counts.tunnels}`,
    `${counts.watchesLost} of ${counts.watches}`,
    `${counts.uploadsFailed} of ${counts.uploads}`,
    `${counts.getsFailed} of ${counts.gets}`,
    ended === 0 ? 'no' : 'by the kernel',
  ];
}
