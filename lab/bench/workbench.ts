import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createDemoCertificates, type DemoCertificates } from '../../demo/certificates.ts';
import type { Cleanup } from '../harness/cleanup.ts';
import { installedProgram } from '../harness/programs.ts';

const run = promisify(execFile);
const sources = import.meta.dirname;

/** Things that all contenders of a run share. All files are in one temporary directory. */
export interface Workbench {
  readonly directory: string;
  readonly certificates: DemoCertificates;
  /** Both authorities in one file: the server takes the router's certificate, and a client's where there is no proxy. */
  readonly anyAuthority: string;
  /** Certificate and key in one file each, as HAProxy reads them. */
  readonly servingPem: string;
  readonly frontProxyPem: string;
  /** The Go programs. */
  readonly goPrograms: string;
  /** Preloaded, gives load generators a client certificate. */
  readonly clientCertificateLibrary: string;
}

/**
 * Makes certificates and builds the programs; `cleanup` removes it all.
 * @throws {UsageError} without a Go toolchain or a C compiler
 */
export async function createWorkbench(cleanup: Cleanup): Promise<Workbench> {
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-bench-'));
  cleanup.add(() => rm(directory, { recursive: true, force: true }));
  const certificates = await createDemoCertificates(join(directory, 'certificates'));
  const [goPrograms, clientCertificateLibrary] = await Promise.all([
    buildGoPrograms(directory),
    buildClientCertificateLibrary(directory),
  ]);
  const { clusterCa, frontProxyCa, router, frontProxyClient } = certificates;
  return {
    directory,
    certificates,
    anyAuthority: await concatenated(directory, 'any-authority.pem', [clusterCa, frontProxyCa]),
    servingPem: await concatenated(directory, 'serving.pem', [router.certificate, router.privateKey]),
    frontProxyPem: await concatenated(directory, 'front-proxy.pem', [
      frontProxyClient.certificate,
      frontProxyClient.privateKey,
    ]),
    goPrograms,
    clientCertificateLibrary,
  };
}

/** A directory of its own for one process. */
export async function newDirectory(workbench: Workbench, name: string): Promise<string> {
  const directory = join(workbench.directory, name);
  await mkdir(directory, { recursive: true });
  return directory;
}

async function concatenated(directory: string, name: string, paths: readonly string[]): Promise<string> {
  const path = join(directory, name);
  const parts = await Promise.all(paths.map((part) => readFile(part, 'utf8')));
  await writeFile(path, parts.join(''), { mode: 0o600 });
  return path;
}

async function buildGoPrograms(directory: string): Promise<string> {
  const go = installedProgram('go', 'golang');
  const output = join(directory, 'bench');
  // No toolchain or module is fetched: it needs the standard library only.
  const env = { ...process.env, GOTOOLCHAIN: 'local', GOPROXY: 'off' };
  await run(go, ['build', '-o', output, '.'], { cwd: join(sources, 'rivals', 'go'), env });
  return output;
}

async function buildClientCertificateLibrary(directory: string): Promise<string> {
  const compiler = installedProgram('cc', 'gcc');
  const output = join(directory, 'client-certificate.so');
  const source = join(sources, 'load', 'client-certificate.c');
  await run(compiler, ['-O1', '-shared', '-fPIC', '-o', output, source, '-ldl']);
  return output;
}
