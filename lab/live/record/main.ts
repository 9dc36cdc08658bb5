/**
 * Records what kube-apiservers of each given version serve, and writes it for `doctor --upgrade-to 1.36`:
 *
 *     MIXED_VERSION_PROXY_LIVE_ASSETS=$HOME/kube-binaries node --env-file=.env lab/live/record/main.ts
 *
 * Versions that are not given stay as they were.
 */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { minorVersion } from '../../../src/apimachinery/server-version.ts';
import { recordedVersions } from '../../../src/cli/doctor/recorded-versions.ts';
import type { Snapshot } from '../../../src/snapshot/format/schema.ts';
import { snapshotFromFolder } from '../../../src/sync/node/recording.ts';
import { commandModule } from '../../../test/support/commands/command.ts';
import { type ApiServerBinary, assetsOfEnvironment, liveAssetsGuide } from '../cluster/assets.ts';
import { startControlPlane } from '../cluster/control-plane.ts';
import { inOwnNetwork } from '../cluster/network.ts';

const output = new URL('../../../src/cli/doctor/recorded-versions.ts', import.meta.url);

const assets = assetsOfEnvironment();
if (!assets.ok) {
  process.stderr.write(`${assets.problems.join('\n')}\n\n${liveAssetsGuide}\n`);
  process.exitCode = 2;
} else {
  const { etcd, apiServers } = assets.assets;
  await inOwnNetwork(apiServers, async () => {
    const texts = new Map(Object.entries(recordedVersions));
    for (const binary of apiServers) {
      const { version, snapshot } = await recorded(etcd, binary);
      const compressed = gzipSync(JSON.stringify(snapshot), { level: 9 }).toString('base64');
      texts.set(version, compressed);
      console.log(`${version}: ${compressed.length} characters`);
      await writeFile(output, moduleText(texts));
    }
  });
}

/** One server over an etcd of its own, with the flags of a new cluster. */
async function recorded(etcd: string, binary: ApiServerBinary) {
  const { servers, certificates, path, close } = await startControlPlane(etcd, [binary]);
  try {
    const [server] = servers;
    if (server === undefined) throw new TypeError('there is a server');
    const folder = path('recording');
    await promisify(execFile)(process.execPath, [
      commandModule,
      'sync',
      '--once',
      `--record=${folder}`,
      `--server=recorded=${server.url}`,
      `--peer-ca-file=${certificates.clusterCa}`,
      `--client-cert-file=${certificates.admin.certificate}`,
      `--client-key-file=${certificates.admin.privateKey}`,
    ]);
    const { snapshot, warnings } = await snapshotFromFolder(folder, { alwaysReadsSchemas: true });
    if (snapshot === undefined) throw new Error(`${binary.version}: ${warnings.join('; ')}`);
    const [recorded] = snapshot.servers;
    // A program that was built without its version says another one in /version than its file is called by.
    if (minorVersion(recorded?.version) !== binary.version) {
      throw new Error(`${binary.path} says that it is ${recorded?.version}`);
    }
    for (const warning of warnings) console.log(`${binary.version}: ${warning}`);
    return { version: binary.version, snapshot: withoutPlaces(snapshot) };
  } finally {
    await close();
  }
}

/** The same text for the same version: no address, no time. */
function withoutPlaces(snapshot: Snapshot): Snapshot {
  return {
    ...snapshot,
    metadata: { ...snapshot.metadata, generation: 1, createdAt: '2026-01-01T00:00:00.000Z' },
    servers: snapshot.servers.map(({ id, version, serves }) => ({
      id,
      ...(version === undefined ? {} : { version }),
      serves,
    })),
  };
}

function moduleText(texts: ReadonlyMap<string, string>): string {
  const entries = [...texts]
    .sort(([left], [right]) => Number(left.slice(2)) - Number(right.slice(2)))
    .map(([version, text]) => `  '${version}':\n    '${text}',\n`);
  return `// Made by lab/live/record/main.ts from real kube-apiservers.

/** By version, a snapshot of what a kube-apiserver serves with the flags of a new cluster: gzip in base64. */
export const recordedVersions: Readonly<Record<string, string>> = {
${entries.join('')}};
`;
}
