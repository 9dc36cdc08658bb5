import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, startChild } from '../../../test/support/commands/child-process.ts';
import { freePort } from '../../../test/support/free-port.ts';
import type { Cleanup } from '../../harness/cleanup.ts';
import { getText } from '../../harness/get-text.ts';
import { newDirectory, type Workbench } from '../workbench.ts';
import { peerCollection } from './bench-snapshot.ts';
import type { Contender, ContenderName, ProxySetup } from './contender.ts';

/** A started contender that answers. */
export interface RunningContender {
  readonly name: ContenderName;
  readonly title: string;
  /** `https://127.0.0.1:port`. */
  readonly origin: string;
  /** The process whose use, with that of its children, counts; `undefined` where there is no proxy. */
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

const readyWithin = 30_000;
const pollInterval = 50;

/**
 * Starts a contender and waits until it passes on who calls, so that all that are measured do the same work.
 * @throws when it ends, or does not within half a minute.
 */
export async function startContender(
  contender: Contender,
  environment: {
    readonly workbench: Workbench;
    readonly servers: ProxySetup['servers'];
    readonly core: number | undefined;
    readonly cleanup: Cleanup;
  },
): Promise<RunningContender> {
  const { workbench, servers, core, cleanup } = environment;
  const { name, title } = contender;
  if (contender.command === undefined) {
    return { name, title, origin: `https://127.0.0.1:${servers.peer}`, pid: undefined, stop: async () => {} };
  }
  const port = await freePort();
  const directory = await newDirectory(workbench, `${name}-${port}`);
  const child = await startChild(await contender.command({ workbench, directory, port, servers }), core);
  cleanup.add(() => child.stop());
  const origin = `https://127.0.0.1:${port}`;
  await untilIdentityArrives(name, origin, child, workbench);
  return { name, title, origin, pid: child.pid, stop: () => child.stop() };
}

async function untilIdentityArrives(
  name: ContenderName,
  origin: string,
  child: Child,
  workbench: Workbench,
): Promise<void> {
  const deadline = Date.now() + readyWithin;
  const tls = await clientTls(workbench);
  let last = 'nothing';
  let hasEnded = false;
  void child.ended.then(() => {
    hasEnded = true;
  });
  while (Date.now() < deadline && !hasEnded) {
    try {
      last = (await getText(`${origin}${peerCollection}?echo=identity`, tls)).text;
      const { user } = JSON.parse(last) as { readonly user?: readonly string[] };
      if (user?.length === 1 && user[0] === 'alice') return;
    } catch (error) {
      last = String(error);
    }
    await sleep(pollInterval);
  }
  throw new Error(`${name} did not pass on who calls: ${last}\n${child.errors()}`);
}

interface ClientTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** The certificate of a contender's client, and the authority that the client believes. */
async function clientTls({ certificates }: Workbench): Promise<ClientTls> {
  const [ca, cert, key] = await Promise.all(
    [certificates.clusterCa, certificates.alice.certificate, certificates.alice.privateKey].map((path) =>
      readFile(path, 'utf8'),
    ),
  );
  return { ca: ca ?? '', cert: cert ?? '', key: key ?? '' };
}
