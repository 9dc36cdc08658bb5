import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { startEdgeProcess } from '../../../scripts/edge/edge-process.ts';
import { clientTls, clusterAuthority, serverPair } from '../credentials.ts';
import type { ConformanceRuntime } from '../runtime.ts';
import type { BunHostSettings } from './bun-settings.ts';
import { edgeEnvironment } from './edge-environment.ts';
import { startEdgeRuntime } from './edge-process.ts';
import { oneFetchTrust, onlyHttp1, urlParsed } from './reservations.ts';

const bunMissing =
  'Bun is not installed: install the optional dependencies (npm ci without --omit=optional) on Linux x64';

/** The Worker's fetch handler under `Bun.serve`, with signed assertions towards the servers. */
export const bun: ConformanceRuntime = {
  id: 'bun',
  title: 'Bun',
  description:
    'The Worker’s fetch handler under `Bun.serve`, TLS in front; servers get signed assertions. It has no entry of its own.',
  missing: () => (bunBinary() === undefined ? bunMissing : undefined),
  lacks: {
    exactTarget: urlParsed,
    http2: onlyHttp1,
    extensionRouting: oneFetchTrust,
    interimAnswers: {
      kind: 'not possible',
      because: '`Bun.serve` sends no `100 Continue`: clients send their body after a wait of their own.',
    },
    clientCertificates: {
      kind: 'not possible',
      because: '`Bun.serve` asks for client certificates and does not say whose they are.',
    },
    frontProxyIdentity: {
      kind: 'not possible',
      because:
        'Bun’s `fetch` writes repeated header lines as one: groups would be joined. Servers get signed assertions.',
    },
    repeatedHeaders: {
      kind: 'not possible',
      because:
        '`Bun.serve` joins repeated lines before the handler is called: its host has to refuse impersonation headers with a comma, as that of these cases does.',
    },
    websocket: {
      kind: 'not possible',
      because:
        'Bun’s `fetch` passes no upgrade on, and would send an ordinary request: the host has to refuse it, as that of these cases does.',
    },
    spdy: {
      kind: 'not possible',
      because: 'Bun’s `fetch` passes no upgrade on: refused with a 400 Status.',
    },
  },
  exceptions: {
    'streaming/head-at-once': {
      kind: 'not possible',
      because:
        'Bun holds the head of a response back until its first byte: a quiet watch shows its head late.',
    },
    'bodies/answer-length': {
      kind: 'not possible',
      because: 'Bun frames a streamed response anew, without its length.',
    },
  },
  start: (settings, cluster) =>
    startEdgeRuntime(async (directory) => {
      const hostSettings: BunHostSettings = {
        environment: edgeEnvironment(settings, cluster, 'assertion'),
        serving: { cert: serverPair.chain, key: serverPair.privateKey },
        destinationAuthorities: clusterAuthority.certificate,
      };
      const path = join(directory, 'settings.json');
      const authorities = join(directory, 'ca.crt');
      await writeFile(authorities, clusterAuthority.certificate);
      await writeFile(path, JSON.stringify(hostSettings), { mode: 0o600 });
      return startEdgeProcess({
        command: bunBinary() ?? '',
        args: ['run', join(import.meta.dirname, 'bun-host.ts'), path],
        directory,
        // The keys of token issuers are fetched from whom the runtime trusts.
        env: { HOME: directory, NODE_EXTRA_CA_CERTS: authorities, NO_COLOR: '1', DO_NOT_TRACK: '1' },
      });
    }, clientTls),
};

/** The Bun of the optional dependency; `undefined` when it was not installed. */
function bunBinary(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve('@oven/bun-linux-x64-baseline/bin/bun');
  } catch {
    return undefined;
  }
}
