import { readFileSync } from 'node:fs';
import { foreignIssuer, parseAssertionKeys } from '../../identity/assertion/assertion-keys.ts';
import { describeKeysIssue } from '../../snapshot/signing/describe-keys-issue.ts';
import { parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import { readAuthenticationConfiguration } from '../callers/authentication-configuration.ts';
import { parseCertificates, parsePair } from '../callers/certificate-pem.ts';
import type { CertificatePair, PemFile, ServeConfig } from '../configuration/serve-config.ts';
import type { ConfigurationSource } from './configuration-source.ts';

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
  throw keysFault('snapshot-keys', path, result.issues);
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
  if (!result.ok) throw keysFault('assertion-keys', path, result.issues);
  const kid = [local, peer].includes('assertion') ? signingKey?.loaded.key.kid : undefined;
  const fault = kid === undefined ? undefined : foreignIssuer(kid, assertionIssuer, result.keys);
  if (fault !== undefined) throw new TypeError(`--assertion-keys ${fault}: correct the file`);
  return { ...identity, assertionKeys: { path, text, pinned: result.keys } };
}

async function issuersAgain(jwt: ServeConfig['jwt'], textOf: TextOf): Promise<ServeConfig['jwt']> {
  if (jwt.configurationFile === undefined) return jwt;
  const { path } = jwt.configurationFile;
  const text = textOf(path);
  const disallowedIssuers = jwt.serviceAccounts?.issuers ?? [];
  const result = await readAuthenticationConfiguration({ path, text, disallowedIssuers, readFile: textOf });
  if (!result.ok) throw new TypeError(`--authentication-config: ${result.faults.join('; ')}`);
  return { ...jwt, issuers: result.issuers, configurationFile: { path, text } };
}

function keysFault(
  name: string,
  path: string,
  issues: readonly Parameters<typeof describeKeysIssue>[1][],
): TypeError {
  return new TypeError(`--${name}: ${issues.map((issue) => describeKeysIssue(path, issue)).join('; ')}`);
}
