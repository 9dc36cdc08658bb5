import { readFileSync } from 'node:fs';
import { foreignIssuer, parseAssertionKeys } from '../../identity/assertion/assertion-keys.ts';
import type { Logger } from '../../runtime/logger.ts';
import { describeKeysIssue, parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import { readAuthenticationConfiguration } from '../callers/authentication-configuration.ts';
import { parseCertificates, parsePair } from '../callers/pem-files.ts';
import type { CertificatePair, PemFile, ServeConfig } from '../configuration/serve-config.ts';
import { applyConfiguration, type ConfigurationUsers } from './apply-configuration.ts';
import type { ConfigurationSource } from './configuration-source.ts';
import type { CredentialWatch } from './credential-watch.ts';
import type { FileGroup, WatchedFile } from './file-reloader.ts';

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
  const manifest = manifestOf(source);
  let warned: readonly string[] = [];
  const filesBehind = (config: ServeConfig, text: string | undefined): FileGroup => {
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
        const reading = await source.read(texts);
        const before = JSON.stringify(live.current.settings.needsRestart());
        await applyConfiguration(reading, users);
        reading.taken();
        watch.setInterval(reading.config.fileCheckInterval);
        const next = filesBehind(reading.config, path === undefined ? undefined : texts.get(path));
        watch.replace([next, ...manifest]);
        const { changed, needsRestart, warnings } = reading;
        for (const warning of warnings) {
          if (!warned.includes(warning)) {
            logger.warn({ path, warning }, 'The configuration was taken, with a warning');
          }
        }
        warned = warnings;
        if (changed.length > 0) logger.info({ changed }, 'Changed settings are in use');
        if (needsRestart.length > 0 && JSON.stringify(needsRestart) !== before) {
          logger.warn({ settings: needsRestart }, 'Changed settings need a restart to take effect');
        }
      },
    };
  };
  watch.add(filesBehind(live.current.config, source.file?.text));
  for (const group of manifest) watch.add(group);
}

/** By itself: whatever it says, certificates are renewed. */
function manifestOf({ manifest }: ConfigurationSource): readonly FileGroup[] {
  if (manifest === undefined) return [];
  const { path, text, check } = manifest;
  const file: WatchedFile = { name: 'kube-apiserver-manifest', path, text, isDocument: true };
  return [{ name: 'the manifest of kube-apiserver', files: [file], apply: (textOf) => check(textOf(file)) }];
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

/**
 * The source of a router that a program has started with a configuration of its own: its settings stay, what its
 * files hold is checked and taken.
 */
export function filesAgain(started: ServeConfig): ConfigurationSource {
  return {
    file: undefined,
    async read(texts) {
      const textOf = (path: string): string => texts.get(path) ?? readFileSync(path, 'utf8');
      const config = await withTexts(started, textOf);
      return { config, changed: [], needsRestart: [], warnings: [], taken() {} };
    },
  };
}

type TextOf = (path: string) => string;

async function withTexts(config: ServeConfig, textOf: TextOf): Promise<ServeConfig> {
  const { serving, clientCa, requestHeader, proxyClient, peerCa, local, snapshot } = config;
  const again = (name: string, { path }: PemFile): PemFile => {
    const pem = textOf(path);
    parseCertificates({ pem, source: `--${name} (${path})` });
    return { path, pem };
  };
  return {
    ...config,
    serving: pairAgain('tls-cert-file', 'tls-private-key-file', serving, textOf),
    namedServing: config.namedServing.map((pair) => ({
      ...pairAgain('tls-sni-cert-key', 'tls-sni-cert-key', pair, textOf),
      names: pair.names,
    })),
    clientCa: clientCa && again('client-ca-file', clientCa),
    requestHeader: requestHeader && {
      ...requestHeader,
      clientCa: again('requestheader-client-ca-file', requestHeader.clientCa),
    },
    proxyClient:
      proxyClient && pairAgain('proxy-client-cert-file', 'proxy-client-key-file', proxyClient, textOf),
    peerCa: peerCa && again('peer-ca-file', peerCa),
    local: local && { ...local, ca: again('local-server-ca-file', local.ca) },
    snapshot: { ...snapshot, keys: snapshot.keys && (await snapshotKeysAgain(snapshot.keys.path, textOf)) },
    embeddedSync: config.embeddedSync && kubeconfigAgain(config.embeddedSync, textOf),
    destinationIdentity: await assertionKeysAgain(config.destinationIdentity, textOf),
    jwt: await issuersAgain(config.jwt, textOf),
  };
}

function pairAgain(
  certificateName: string,
  keyName: string,
  { certificate, privateKey }: CertificatePair,
  textOf: TextOf,
): CertificatePair {
  const [pem, key] = [textOf(certificate.path), textOf(privateKey.path)];
  parsePair(
    { pem, source: `--${certificateName} (${certificate.path})` },
    { pem: key, source: `--${keyName} (${privateKey.path})` },
  );
  return { certificate: { path: certificate.path, pem }, privateKey: { path: privateKey.path, pem: key } };
}

async function snapshotKeysAgain(path: string, textOf: TextOf): Promise<ServeConfig['snapshot']['keys']> {
  const text = textOf(path);
  const result = await parseSnapshotKeys(text);
  if (result.ok) return { path, text, pinned: result.keys };
  throw keysIssue('snapshot-keys', path, result.issues);
}

function kubeconfigAgain(
  embeddedSync: NonNullable<ServeConfig['embeddedSync']>,
  textOf: TextOf,
): ServeConfig['embeddedSync'] {
  const { access } = embeddedSync;
  if (!('kubeconfig' in access)) return embeddedSync;
  const { path } = access.kubeconfig;
  return { ...embeddedSync, access: { ...access, kubeconfig: { path, text: textOf(path) } } };
}

async function assertionKeysAgain(
  identity: ServeConfig['destinationIdentity'],
  textOf: TextOf,
): Promise<ServeConfig['destinationIdentity']> {
  const { assertionKeys, signingKey, assertionIssuer, local, peer } = identity;
  if (assertionKeys === undefined) return identity;
  const { path } = assertionKeys;
  const text = textOf(path);
  const result = await parseAssertionKeys(text);
  if (!result.ok) throw keysIssue('assertion-keys', path, result.issues);
  const kid = [local, peer].includes('assertion') ? signingKey?.loaded.key.kid : undefined;
  const issue = kid === undefined ? undefined : foreignIssuer(kid, assertionIssuer, result.keys);
  if (issue !== undefined) throw new TypeError(`--assertion-keys ${issue}: correct the file`);
  return { ...identity, assertionKeys: { path, text, pinned: result.keys } };
}

async function issuersAgain(jwt: ServeConfig['jwt'], textOf: TextOf): Promise<ServeConfig['jwt']> {
  if (jwt.configurationFile === undefined) return jwt;
  const { path } = jwt.configurationFile;
  const text = textOf(path);
  const disallowedIssuers = jwt.serviceAccounts?.issuers ?? [];
  const result = await readAuthenticationConfiguration({ path, text, disallowedIssuers, readFile: textOf });
  if (!result.ok) throw new TypeError(`--authentication-config: ${result.issues.join('; ')}`);
  return { ...jwt, issuers: result.issuers, configurationFile: { path, text } };
}

function keysIssue(
  name: string,
  path: string,
  issues: readonly Parameters<typeof describeKeysIssue>[1][],
): TypeError {
  return new TypeError(`--${name}: ${issues.map((issue) => describeKeysIssue(path, issue)).join('; ')}`);
}
