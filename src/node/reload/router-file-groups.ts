import { describeKeysIssue } from '../../snapshot/describe-keys-issue.ts';
import { parseSnapshotKeys } from '../../snapshot/keys.ts';
import { type PemText, parseCertificates, parsePair } from '../certificate-pem.ts';
import { readClientAuthorities } from '../client-authorities.ts';
import type { CertificatePair, PemFile, ServeConfig } from '../serve-config.ts';
import type { CredentialUsers } from './credential-users.ts';
import type { FileGroup, WatchedFile } from './file-group.ts';
import {
  type LiveCredentials,
  type PemPair,
  serverTlsOf,
  transportCredentialsOf,
} from './live-credentials.ts';

type TextOf = (file: WatchedFile) => string;

/**
 * The certificates and keys that `serve` was given, in the groups in which they change. Each group goes by the
 * checks of the start; what refuses to be used is thrown before anything is replaced.
 */
export function routerFileGroups(
  config: ServeConfig,
  credentials: LiveCredentials,
  users: CredentialUsers,
): readonly FileGroup[] {
  return [
    serving(config, credentials, users),
    ...clientAuthorities(config, credentials, users),
    ...frontProxy(config, credentials, users),
    ...serverAuthorities(config, credentials, users),
    ...snapshotKeys(config, credentials),
  ];
}

function serving(
  config: ServeConfig,
  credentials: LiveCredentials,
  { server, admin }: CredentialUsers,
): FileGroup {
  const pair = watchedPair(config.serving, 'tls-cert-file', 'tls-private-key-file');
  return {
    name: 'the serving certificate and its key',
    files: pair.files,
    apply(textOf) {
      const change = { serving: pair.read(textOf) };
      server.setSecureContext(serverTlsOf({ ...credentials.current, ...change }));
      admin?.setCertificate(change.serving);
      credentials.replace(change);
    },
  };
}

function clientAuthorities(
  { clientCa, requestHeader }: ServeConfig,
  credentials: LiveCredentials,
  { server }: CredentialUsers,
): FileGroup[] {
  const users = clientCa && watched('client-ca-file', clientCa);
  const frontProxies = requestHeader && watched('requestheader-client-ca-file', requestHeader.clientCa);
  const files = [users, frontProxies].filter((file) => file !== undefined);
  if (files.length === 0) return [];
  const group: FileGroup = {
    // One group, since an authority must not be in both.
    name: 'the authorities of client certificates',
    files,
    apply(textOf) {
      const change = {
        clientAuthorities: readClientAuthorities({
          clientCa: users && textOf(users),
          requestHeaderCa: frontProxies && textOf(frontProxies),
        }),
      };
      server.setSecureContext(serverTlsOf({ ...credentials.current, ...change }));
      credentials.replace(change);
    },
  };
  return [group];
}

function frontProxy(
  { proxyClient }: ServeConfig,
  credentials: LiveCredentials,
  { transport }: CredentialUsers,
): FileGroup[] {
  if (proxyClient === undefined) return [];
  const pair = watchedPair(proxyClient, 'proxy-client-cert-file', 'proxy-client-key-file');
  const group: FileGroup = {
    name: 'the front-proxy client certificate and its key',
    files: pair.files,
    apply(textOf) {
      const change = { frontProxy: pair.read(textOf) };
      transport.updateCredentials(transportCredentialsOf({ ...credentials.current, ...change }));
      credentials.replace(change);
    },
  };
  return [group];
}

function serverAuthorities(
  { peerCa, local }: ServeConfig,
  credentials: LiveCredentials,
  { transport }: CredentialUsers,
): FileGroup[] {
  const peers = peerCa && watched('peer-ca-file', peerCa);
  const own =
    local === undefined || peers?.path === local.ca.path ? peers : watched('local-server-ca-file', local.ca);
  const files = [...new Set([peers, own])].filter((file) => file !== undefined);
  const [either] = files;
  if (either === undefined) return [];
  const group: FileGroup = {
    name: 'the authorities of the API servers',
    files,
    apply(textOf) {
      for (const file of files) parseCertificates(textFrom(file, textOf));
      const change = { peerAuthorities: textOf(peers ?? either), localAuthorities: textOf(own ?? either) };
      transport.updateCredentials(transportCredentialsOf({ ...credentials.current, ...change }));
      credentials.replace(change);
    },
  };
  return [group];
}

function snapshotKeys({ snapshot }: ServeConfig, credentials: LiveCredentials): FileGroup[] {
  const { keys } = snapshot;
  if (keys === undefined) return [];
  const file: WatchedFile = { name: 'snapshot-keys', path: keys.path, text: keys.text };
  const group: FileGroup = {
    name: 'the public keys of snapshots',
    files: [file],
    async apply(textOf) {
      const result = await parseSnapshotKeys(textOf(file));
      if (!result.ok) {
        const faults = result.issues.map((issue) => describeKeysIssue(file.path, issue));
        throw new TypeError(`--${file.name}: ${faults.join('; ')}`);
      }
      credentials.replace({ snapshotKeys: result.keys });
    },
  };
  return [group];
}

function watched(name: string, { path, pem }: PemFile): WatchedFile {
  return { name, path, text: pem };
}

function watchedPair(
  { certificate, privateKey }: CertificatePair,
  certificateName: string,
  keyName: string,
): { readonly files: readonly WatchedFile[]; read(textOf: TextOf): PemPair } {
  const certificateFile = watched(certificateName, certificate);
  const keyFile = watched(keyName, privateKey);
  return {
    files: [certificateFile, keyFile],
    read(textOf) {
      parsePair(textFrom(certificateFile, textOf), textFrom(keyFile, textOf));
      return { certificate: textOf(certificateFile), key: textOf(keyFile) };
    },
  };
}

function textFrom(file: WatchedFile, textOf: TextOf): PemText {
  return { pem: textOf(file), source: `--${file.name} (${file.path})` };
}
