import { type Child, type Command, startChild } from '../../../test/support/commands/child-process.ts';
import type { Cleanup } from '../../harness/cleanup.ts';
import type { Workbench } from '../workbench.ts';
import type { ProxySetup } from './contender.ts';

/** The servers behind every proxy: one process that listens on two ports and answers at once. */
export interface Backend {
  readonly servers: ProxySetup['servers'];
  readonly child: Child;
}

export async function startBackend(
  { certificates, anyAuthority, goPrograms }: Workbench,
  cleanup: Cleanup,
  core: number | undefined,
): Promise<Backend> {
  const { certificate, privateKey } = certificates.apiServer;
  const command: Command = {
    executable: goPrograms,
    arguments: ['backend', `-certificate=${certificate}`, `-key=${privateKey}`, `-authority=${anyAuthority}`],
  };
  const child = await startChild(command, core);
  cleanup.add(() => child.stop());
  const { ports } = JSON.parse(await child.nextLine()) as { readonly ports: readonly [number, number] };
  return { servers: { local: ports[0], peer: ports[1] }, child };
}
