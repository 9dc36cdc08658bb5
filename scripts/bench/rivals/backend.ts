import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Child, type Command, startChild } from '../../harness/child-process.ts';
import type { Cleanup } from '../../harness/cleanup.ts';
import { freePort } from '../../harness/free-port.ts';
import { newDirectory, type Workbench } from '../workbench.ts';
import type { ProxySetup } from './contender.ts';
import { nginxCommand, nginxConfiguration } from './nginx.ts';

/** The servers behind every proxy: one process that listens on two ports and answers at once. */
export interface Backend {
  readonly kind: 'go' | 'nginx';
  readonly servers: ProxySetup['servers'];
  readonly child: Child;
}

/** Lengths of the documents it has, in bytes; asked for by the query `bytes=`. Without a query: 1 KiB. */
export const documentSizes = [1024, 64 * 1024, 10 * 1024 * 1024, 100 * 1024 * 1024] as const;

/** The Go server, or nginx with files where there is no Go. */
export async function startBackend(
  workbench: Workbench,
  cleanup: Cleanup,
  core: number | undefined,
): Promise<Backend> {
  const { goPrograms } = workbench;
  return goPrograms === undefined
    ? startNginxBackend(workbench, cleanup, core)
    : startGoBackend(workbench, goPrograms, cleanup, core);
}

async function startGoBackend(
  { certificates, anyAuthority }: Workbench,
  program: string,
  cleanup: Cleanup,
  core: number | undefined,
): Promise<Backend> {
  const { certificate, privateKey } = certificates.apiServer;
  const command: Command = {
    executable: program,
    arguments: ['backend', `-certificate=${certificate}`, `-key=${privateKey}`, `-authority=${anyAuthority}`],
  };
  const child = await startChild(command, core);
  cleanup.add(() => child.stop());
  const { ports } = JSON.parse(await child.nextLine()) as { readonly ports: readonly [number, number] };
  return { kind: 'go', servers: { local: ports[0], peer: ports[1] }, child };
}

async function startNginxBackend(
  workbench: Workbench,
  cleanup: Cleanup,
  core: number | undefined,
): Promise<Backend> {
  const directory = await newDirectory(workbench, 'backend');
  const documents = join(directory, 'documents');
  await mkdir(documents, { recursive: true });
  for (const size of documentSizes) await writeFile(join(documents, `${size}`), 'a'.repeat(size));
  const servers = { local: await freePort(), peer: await freePort() };
  const path = join(directory, 'nginx.conf');
  await writeFile(path, nginxConfiguration(directory, fileServer(workbench, documents, servers)));
  const child = await startChild(nginxCommand(directory, path), core);
  cleanup.add(() => child.stop());
  return { kind: 'nginx', servers, child };
}

/** Also answers POST, which files know nothing of, and says who calls when asked. */
function fileServer(workbench: Workbench, documents: string, servers: ProxySetup['servers']): string {
  const { certificate, privateKey } = workbench.certificates.apiServer;
  const sizes = documentSizes.map((size) => `${size} /${size};`).join(' ');
  return `
  map $arg_bytes $document { default /1024; ${sizes} }
  server {
    listen 127.0.0.1:${servers.local} ssl http2;
    listen 127.0.0.1:${servers.peer} ssl http2;
    keepalive_requests 100000000;
    ssl_certificate ${certificate};
    ssl_certificate_key ${privateKey};
    ssl_client_certificate ${workbench.anyAuthority};
    ssl_verify_client on;
    default_type application/json;
    root ${documents};
    location = /readyz { return 200 ok; }
    location ~ ^/api {
      if ($arg_echo) { return 200 '{"user":["$http_x_remote_user"]}'; }
      rewrite ^ $document last;
    }
    location / { error_page 405 =200 /1024; }
  }`;
}
