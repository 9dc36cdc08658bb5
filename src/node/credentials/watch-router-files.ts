import type { SettingChange } from '../../own-paths/status/status-sources.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { PemFile, ServeConfig } from '../configuration/serve-config.ts';
import type { CredentialWatch } from './credential-watch.ts';
import { credentialsOf } from './credentials.ts';
import type { WatchedFile } from './file-reloader.ts';
import type { CredentialUsers, LiveCredentials } from './live-credentials.ts';

/** Who goes by what the files of a router hold. */
interface FileUsers extends CredentialUsers {
  readonly live: LiveCredentials;
  /**
   * Makes ready to read the cluster with what the kubeconfig holds now, without any effect yet. Left out where snapshots
   * are pushed.
   * @returns how to go by it from now on
   */
  readonly prepareSync?: ((config: ServeConfig) => Promise<() => void>) | undefined;
  /** Told of the settings that differ in the configuration file from those of the start. */
  readonly onSettingsChanged: (changes: readonly SettingChange[]) => void;
}

/**
 * Has every file looked after that a router was started with. What certificates, keys and kubeconfig hold is checked again
 * when one of them changes, and taken into use, whole or not at all. A changed configuration file is checked and told:
 * its settings take a restart.
 */
export function watchRouterFiles(
  started: ServeConfig,
  users: FileUsers,
  source: ConfigurationSource,
  watch: CredentialWatch,
  logger: Logger,
): void {
  const files = filesOf(started);
  watch.add({
    name: 'certificates, keys and kubeconfig',
    files,
    async apply(textOf) {
      const config = await source.read(new Map(files.map((file) => [file.path, textOf(file)])));
      const credentials = credentialsOf(config);
      const readCluster = await users.prepareSync?.(config);
      users.live.replace(credentials, users);
      readCluster?.();
    },
  });
  if (source.file !== undefined) {
    const file: WatchedFile = { name: 'config', ...source.file, isDocument: true };
    watch.add({
      name: 'the configuration file',
      files: [file],
      isOnlyChecked: true,
      async apply(textOf) {
        const changes = await source.changes(textOf(file));
        users.onSettingsChanged(changes);
        const { path } = file;
        if (changes.length > 0) {
          logger.warn(
            { path, settings: changes },
            'The configuration file has changed since the start: restart to use it',
          );
        } else logger.info({ path }, 'The configuration file says what is in use');
      },
    });
  }
  if (source.manifest !== undefined) {
    const { path, text, check } = source.manifest;
    const file: WatchedFile = { name: 'kube-apiserver-manifest', path, text, isDocument: true };
    watch.add({
      name: 'the manifest of kube-apiserver',
      files: [file],
      isOnlyChecked: true,
      apply: (textOf) => check(textOf(file)),
    });
  }
}

/** The files of credentials that a configuration was read from. */
function filesOf(config: ServeConfig): readonly WatchedFile[] {
  const { serving, clientCa, requestHeader, proxyClient, peerCa, local, snapshot, assertionKeys } = config;
  const { access } = config.embeddedSync ?? {};
  const localCa = local?.ca.path === peerCa?.path ? undefined : local?.ca;
  return [
    ...pem('tls-cert-file', serving.certificate),
    ...pem('tls-private-key-file', serving.privateKey),
    ...config.namedServing.flatMap(({ certificate, privateKey }) => [
      ...pem('tls-sni-cert-key', certificate),
      ...pem('tls-sni-cert-key', privateKey),
    ]),
    ...pem('client-ca-file', clientCa),
    ...pem('requestheader-client-ca-file', requestHeader?.clientCa),
    ...pem('proxy-client-cert-file', proxyClient?.certificate),
    ...pem('proxy-client-key-file', proxyClient?.privateKey),
    ...pem('peer-ca-file', peerCa),
    ...pem('local-server-ca-file', localCa),
    ...(snapshot.keys === undefined ? [] : [{ name: 'snapshot-keys', ...snapshot.keys }]),
    ...(access !== undefined && 'kubeconfig' in access
      ? [{ name: 'kubeconfig', ...access.kubeconfig, isDocument: true }]
      : []),
    ...(assertionKeys === undefined ? [] : [{ name: 'assertion-keys', ...assertionKeys }]),
  ];
}

function pem(name: string, file: PemFile | undefined): WatchedFile[] {
  return file === undefined ? [] : [{ name, path: file.path, text: file.pem }];
}

/** Where a router's configuration comes from: flags, a configuration file, and the files that both name. */
export interface ConfigurationSource {
  /** The configuration file as it was read at start; `undefined` without one. */
  readonly file: { readonly path: string; readonly text: string } | undefined;
  /** The manifest that the local server was found in, as it was read at start. Absent: there is none. */
  readonly manifest?:
    | {
        readonly path: string;
        readonly text: string;
        /** @throws {Error} why the router cannot go on by what the manifest says now */
        check(text: string): void;
      }
    | undefined;
  /**
   * The settings of the start, with what the files that they name hold now, checked as at the start.
   * @param texts by path. Others are read.
   * @throws {Error} with every error
   */
  read(texts: ReadonlyMap<string, string>): Promise<ServeConfig>;
  /**
   * What a restart would change, now that the configuration file says something else.
   * @throws {Error} with every error that a start with this text would have, each with its line and its path
   */
  changes(text: string): Promise<readonly SettingChange[]>;
}
