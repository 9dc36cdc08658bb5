import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { PemFile, ServeConfig } from '../../../src/node/configuration/serve-config.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Certificates and keys where a router can read them again. */
export interface CredentialFiles {
  /** The same configuration with the paths of real files. */
  readonly config: ServeConfig;
  /** @param name as in the configuration, such as `front-proxy-client.crt` */
  write(name: string, pem: string): Promise<void>;
}

/** Writes every PEM file that a configuration names into a directory, which goes when the test ends. */
export async function writeCredentialFiles(
  context: TestContext,
  config: ServeConfig,
): Promise<CredentialFiles> {
  const directory = await temporaryDirectory(context);
  const pending: Promise<void>[] = [];
  const pathOf = (name: string): string => join(directory, basename(name));
  const moved = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
      return value;
    if (!isFile(value)) {
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, moved(inner)]));
    }
    pending.push(writeFile(pathOf(value.path), 'pem' in value ? value.pem : value.text));
    return { ...value, path: pathOf(value.path) };
  };
  const withPaths = moved(config) as ServeConfig;
  await Promise.all(pending);
  return { config: withPaths, write: (name, pem) => writeFile(pathOf(name), pem) };
}

type TextFile = NonNullable<ServeConfig['snapshot']['keys']>;

function isFile(value: object): value is PemFile | TextFile {
  return 'path' in value && ('pem' in value || 'text' in value);
}
