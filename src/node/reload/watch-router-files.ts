import type { Logger } from '../../runtime/logger.ts';
import type { PemFile, ServeConfig } from '../configuration/serve-config.ts';
import { applyConfiguration, type ConfigurationUsers } from './apply-configuration.ts';
import type { ConfigurationSource } from './configuration-source.ts';
import type { CredentialWatch } from './credential-watch.ts';
import type { FileGroup, WatchedFile } from './file-group.ts';

/**
 * Has every file looked after that a router was started with: the configuration file, where there is one, and what it
 * names. Whichever of them changes, all of it is checked again and becomes the next generation, whole or not at all.
 * Once it names other files, those are looked after in their place.
 */
export function watchRouterFiles(
  users: ConfigurationUsers,
  source: ConfigurationSource,
  watch: CredentialWatch,
  logger: Logger,
): void {
  const { live } = users;
  let warned: readonly string[] = [];
  const generation = (config: ServeConfig, text: string | undefined): FileGroup => {
    const { path } = source.file ?? {};
    const files: readonly WatchedFile[] = [
      ...(path === undefined || text === undefined ? [] : [{ name: 'config', path, text, isDocument: true }]),
      ...filesOf(config),
    ];
    return {
      name: 'the configuration and its files',
      files,
      async apply(textOf) {
        const texts = new Map(files.map((file) => [file.path, textOf(file)]));
        const reading = await source.read(texts, live.current.commandLine.flags);
        await applyConfiguration(reading.config, users);
        reading.taken();
        watch.setInterval(reading.config.fileCheckInterval);
        watch.replace([generation(reading.config, path === undefined ? undefined : texts.get(path))]);
        const { changed, needsRestart, warnings } = reading;
        const before = JSON.stringify(live.needsRestart());
        live.noteNeedsRestart(needsRestart);
        for (const warning of warnings) if (!warned.includes(warning)) logger.warn({ path }, warning);
        warned = warnings;
        if (changed.length > 0) logger.info({ changed }, 'Changed settings are in use');
        if (needsRestart.length > 0 && JSON.stringify(needsRestart) !== before) {
          logger.warn({ settings: needsRestart }, 'Changed settings need a restart to take effect');
        }
      },
    };
  };
  watch.add(generation(live.current, source.file?.text));
}

/** The files that a configuration was read from and that can change while the router runs. */
function filesOf(config: ServeConfig): readonly WatchedFile[] {
  const { serving, clientCa, requestHeader, proxyClient, peerCa, local, snapshot, jwt } = config;
  const { access } = config.embeddedSync ?? {};
  const { assertionKeys } = config.destinationIdentity;
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
    ...(jwt.configurationFile === undefined
      ? []
      : [{ name: 'authentication-config', ...jwt.configurationFile, isDocument: true }]),
  ];
}

function pem(name: string, file: PemFile | undefined): WatchedFile[] {
  return file === undefined ? [] : [{ name, path: file.path, text: file.pem }];
}
