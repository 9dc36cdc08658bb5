import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { TestContext } from 'node:test';
import type { PemFile, ServeConfig } from '../../../src/node/configuration/serve-config.ts';
import type { ConfigurationSource } from '../../../src/node/credentials/credentials.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Certificates and keys where a router can read them again. */
export interface CredentialFiles {
  /** The same configuration with the paths of real files. */
  readonly config: ServeConfig;
  /** Reads them again. */
  readonly source: ConfigurationSource;
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
  const withPaths = withFiles(config, (file) => {
    pending.push(writeFile(pathOf(file.path), 'pem' in file ? file.pem : file.text));
    return { ...file, path: pathOf(file.path) };
  });
  await Promise.all(pending);
  return {
    config: withPaths,
    source: {
      file: undefined,
      read: async (texts) =>
        withFiles(withPaths, (file) => {
          const text = texts.get(file.path);
          if (text === undefined) return file;
          return 'pem' in file ? { ...file, pem: text } : { ...file, text };
        }),
      changes: async () => [],
    },
    write: (name, pem) => writeFile(pathOf(name), pem),
  };
}

/** A configuration with other files, wherever in it they are. */
function withFiles(
  config: ServeConfig,
  replace: (file: PemFile | TextFile) => PemFile | TextFile,
): ServeConfig {
  const replaced = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(replaced);
    if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
      return value;
    if (isFile(value)) return replace(value);
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, replaced(inner)]));
  };
  return replaced(config) as ServeConfig;
}

type TextFile = NonNullable<ServeConfig['snapshotKeys']>;

function isFile(value: object): value is PemFile | TextFile {
  return 'path' in value && ('pem' in value || 'text' in value);
}
