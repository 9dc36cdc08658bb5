import { stat } from 'node:fs/promises';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { messageOf } from '../terminal/command-context.ts';
import type { Finding } from './finding.ts';

/** Whether others can read the private keys. */
export async function permissionFindings(config: ServeConfig): Promise<readonly Finding[]> {
  const { serving, namedServing, proxyClient, destinationIdentity } = config;
  const paths = [
    serving.privateKey.path,
    ...namedServing.map(({ privateKey }) => privateKey.path),
    proxyClient?.privateKey.path,
    destinationIdentity.signingKey?.path,
  ].filter((path) => path !== undefined);
  return Promise.all([...new Set(paths)].map(permissionsOf));
}

async function permissionsOf(path: string): Promise<Finding> {
  const check = 'permissions of keys';
  try {
    const { mode } = await stat(path);
    const octal = (mode & 0o777).toString(8).padStart(3, '0');
    // A group may read: Secrets are mounted with fsGroup that way.
    return (mode & 0o007) === 0 && (mode & 0o020) === 0
      ? { check, result: 'ok', message: `${path} has mode ${octal}` }
      : { check, result: 'warning', message: `${path} has mode ${octal}: chmod 600 ${path}` };
  } catch (error) {
    return { check, result: 'failed', message: `${path}: ${messageOf(error)}` };
  }
}
