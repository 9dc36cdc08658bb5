import type { RequestOptions } from 'node:https';
import type { KubeConfig, User } from '@kubernetes/client-node';
import * as v from 'valibot';
import { parseCertificates, parsePair } from '../../node/callers/pem-files.ts';
import type { PemPair } from '../../node/reload/credentials.ts';
import { isBearerToken } from '../../runtime/bearer-token.ts';
import { errorCode } from '../../runtime/error-code.ts';
import { errorMessage } from '../../runtime/error-message.ts';

/** The kubeconfig, or the environment of the pod, cannot be used. The message says what to change. */
export class ClusterAccessError extends TypeError {
  override readonly name = 'ClusterAccessError';
}

/** The credentials of a kubeconfig at one moment: files are rotated, tokens expire. */
export interface ClusterCredentials {
  /** PEM; `undefined` if the kubeconfig names none: the system's own apply. */
  readonly certificateAuthorities: string | undefined;
  readonly clientCertificate: PemPair | undefined;
  /** Name, value, name, value, …: `Authorization` and impersonation. */
  readonly headers: readonly string[];
  /** The name that the certificate of `server` must have; default: its host. */
  readonly serverName: string | undefined;
}

/**
 * The credentials of the current user.
 *
 * @param files that the kubeconfig was loaded from, for messages
 * @throws {ClusterAccessError} for a token that cannot be sent, or a certificate or key that cannot be used
 * @throws {Error} when a file cannot be read, or a plugin fails
 */
export async function credentialsOf(config: KubeConfig, files: string): Promise<ClusterCredentials> {
  // Its other method, `applySecurityAuthentication`, makes a connection pool for each call, which is never closed.
  const request: RequestOptions & { servername?: string } = {};
  const user = config.getCurrentUser();
  try {
    await config.applyToHTTPSOptions(request);
  } catch (error) {
    // Without the error as cause: what a plugin wrote, and a parser quotes, may be a token.
    throw new Error(`${files}: ${failureOf(user, error)}`);
  }
  const { ca, cert, key, headers = {}, servername } = request;
  // An empty file would make the user nobody.
  if (tokenFileOf(user) !== undefined && !('Authorization' in headers)) checkedToken('', user, files);
  const certificateAuthorities = textOf(ca);
  const certificate = textOf(cert);
  const privateKey = textOf(key);
  checkPem({ certificateAuthorities, certificate, privateKey }, user, files);
  return {
    certificateAuthorities,
    clientCertificate:
      certificate === undefined || privateKey === undefined ? undefined : { certificate, key: privateKey },
    headers: Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [name, checkedHeader(name, String(value), user, files)],
    ),
    serverName: servername,
  };
}

/** What OpenSSL says of such a text names neither the file nor the field. */
function checkPem(
  pem: Readonly<Record<'certificateAuthorities' | 'certificate' | 'privateKey', string | undefined>>,
  user: User | null,
  files: string,
): void {
  const { certificateAuthorities, certificate, privateKey } = pem;
  try {
    if (certificateAuthorities !== undefined) {
      parseCertificates({ pem: certificateAuthorities, source: 'certificate-authority' });
    }
    if (certificate !== undefined && privateKey !== undefined) {
      const source = (field: string) => `${field} of ${nameOf(user)}`;
      parsePair(
        { pem: certificate, source: source('client-certificate') },
        { pem: privateKey, source: source('client-key') },
      );
    }
  } catch (error) {
    throw new ClusterAccessError(`${files}: ${errorMessage(error)}`, { cause: error });
  }
}

const scheme = 'Bearer ';

function checkedHeader(name: string, value: string, user: User | null, files: string): string {
  if (name === 'Authorization' && value.startsWith(scheme)) {
    return `${scheme}${checkedToken(value.slice(scheme.length), user, files)}`;
  }
  // RFC 9110 section 5.5.
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return value;
  throw new ClusterAccessError(`${files}: as of ${nameOf(user)} has a character that no header may have.`);
}

/**
 * The token as it is sent. A file ends with a line feed, which client-go removes as well (k8s.io/client-go
 * transport/token_source.go).
 *
 * @throws {ClusterAccessError} that says where it is, and never what it is
 */
export function checkedToken(text: string, user: User | null, files: string): string {
  const token = String(text).trim();
  if (isBearerToken(token)) return token;
  throw new ClusterAccessError(
    `${files}: ${placeOfToken(user)} cannot be sent: it must be one word of printable ASCII characters.`,
  );
}

function nameOf(user: User | null): string {
  return `user ${user?.name ?? '(none)'}`;
}

/** Where the token of a user comes from, in the order in which one wins over the other. */
function placeOfToken(user: User | null): string {
  if (user?.token) return `the token of ${nameOf(user)}`;
  const file = tokenFileOf(user);
  if (file !== undefined) return `the token in ${file}, the tokenFile of ${nameOf(user)},`;
  const plugin = pluginOf(user);
  return plugin === undefined
    ? `the token of ${nameOf(user)}`
    : `the token that the exec plugin ${plugin} gives for ${nameOf(user)}`;
}

const fileProvider = v.object({ config: v.object({ tokenFile: v.string() }) });

function tokenFileOf(user: User | null): string | undefined {
  const provider = v.safeParse(fileProvider, user?.authProvider);
  return provider.success ? provider.output.config.tokenFile : undefined;
}

const execPlugin = v.object({ command: v.string() });

/** Its command. */
function pluginOf(user: User | null): string | undefined {
  const plugin = v.safeParse(execPlugin, user?.exec);
  return plugin.success ? plugin.output.command : undefined;
}

function failureOf(user: User | null, error: unknown): string {
  const isOfFile =
    error instanceof Error && 'path' in error && 'syscall' in error && error.syscall === 'open';
  const plugin = pluginOf(user);
  if (plugin === undefined || isOfFile) return `${nameOf(user)}: ${errorMessage(error)}`;
  return `the exec plugin ${plugin} of ${nameOf(user)} ${pluginFailureOf(error)}`;
}

/** Of its output nothing is told, which may hold a token; of what it says on standard error everything. */
function pluginFailureOf(error: unknown): string {
  if (error instanceof SyntaxError) return 'wrote something else than JSON';
  if (error instanceof TypeError) return 'wrote something else than an ExecCredential with its status';
  if (errorCode(error) !== '') return `cannot be run: ${errorMessage(error)}`;
  const told = errorMessage(error)
    .trim()
    .replaceAll(/\s*\n\s*/g, '; ');
  return `failed: ${told === '' ? 'it says nothing on standard error' : told}`;
}

/** client-node reads PEM as bytes. */
function textOf(pem: unknown): string | undefined {
  if (typeof pem === 'string') return pem;
  return pem instanceof Uint8Array ? Buffer.from(pem).toString('utf8') : undefined;
}
