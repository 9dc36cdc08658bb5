import { mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writePrivate } from '../certificates.ts';
import type { EdgeTls, PemPair } from './running-edge.ts';
import type { WorkerBuild } from './worker-build.ts';
import { type WorkerdKeypair, workerdConfig } from './workerd-config.ts';

interface WorkerdDirectoryOptions {
  readonly directory: string;
  readonly build: WorkerBuild;
  readonly tls: EdgeTls;
  /** `host:port` */
  readonly listen: string;
  readonly networks: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Writes everything that workerd needs into `directory`: the configuration, and beside it what it embeds. All of it
 * is readable by its owner only, as keys are among it. What Durable Objects have stored there stays.
 * @returns the path of the configuration.
 */
export async function writeWorkerdDirectory(options: WorkerdDirectoryOptions): Promise<string> {
  const { directory, build, tls, environment } = options;
  const storageDirectory = join(directory, 'storage');
  await mkdir(storageDirectory, { recursive: true, mode: 0o700 });
  // Files of an earlier build or configuration that this one has not must not stay: keys least of all.
  for (const name of ['modules', 'tls', 'environment']) {
    await rm(join(directory, name), { recursive: true, force: true });
  }
  const write = async (file: string, text: string): Promise<string> => {
    await mkdir(dirname(join(directory, file)), { recursive: true, mode: 0o700 });
    await writePrivate(join(directory, file), text);
    return file;
  };
  const writePair = async (name: string, pair: PemPair): Promise<WorkerdKeypair> => ({
    privateKey: await write(`tls/${name}.key`, pair.privateKey),
    certificateChain: await write(`tls/${name}.crt`, pair.certificate),
  });
  const writeAuthorities = (name: string, bundle: string): Promise<string[]> =>
    Promise.all(certificatesOf(name, bundle).map((pem, index) => write(`tls/${name}-${index}.crt`, pem)));

  const { clientAuthorities, frontProxyClient } = tls;
  const textBindings: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (!/^[A-Z][A-Z\d_]*$/.test(name))
      throw new TypeError(`${name} is no name of a variable: use A-Z, 0-9 and _`);
    textBindings[name] = await write(`environment/${name}`, value);
  }
  const modules = await Promise.all(
    build.modules.map(async ({ name, text }) => ({ name, file: await write(`modules/${name}`, text) })),
  );
  const config = workerdConfig({
    ...build,
    modules,
    listen: options.listen,
    networks: options.networks,
    serving: await writePair('serving', tls.serving),
    clientAuthorities:
      clientAuthorities === undefined ? undefined : await writeAuthorities('client-ca', clientAuthorities),
    destinationAuthorities: await writeAuthorities('destination-ca', tls.destinationAuthorities),
    frontProxyClient:
      frontProxyClient === undefined ? undefined : await writePair('front-proxy', frontProxyClient),
    textBindings,
    storageDirectory,
  });
  await write('workerd.capnp', config);
  return join(directory, 'workerd.capnp');
}

/** workerd takes one certificate for each entry of its list, and silently trusts only the first of several. */
function certificatesOf(name: string, bundle: string): readonly string[] {
  const certificates = bundle.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
  // An empty list would demand certificates that nobody can have, or trust nobody: not what was meant.
  if (certificates === null) throw new TypeError(`${name}: holds no PEM certificate`);
  return certificates.map((certificate) => `${certificate}\n`);
}
