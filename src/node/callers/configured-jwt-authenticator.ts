import { readFile } from 'node:fs/promises';
import { Agent, fetch } from 'undici';
import { CachedKeys } from '../../identity/jwt/cached-keys.ts';
import { type FetchDocument, KeyLoadError } from '../../identity/jwt/fetch-document.ts';
import { JwtAuthenticator } from '../../identity/jwt/jwt-authenticator.ts';
import type { ParsedKeySet } from '../../identity/jwt/key-set.ts';
import type { KeySource, LoadKeys } from '../../identity/jwt/key-source.ts';
import { keysFromDiscovery, keysFromUrl } from '../../identity/jwt/load-keys.ts';
import type { ExternalIssuerConfig } from '../../identity/jwt/parse-jwt-configuration.ts';
import { serviceAccountIssuer } from '../../identity/jwt/service-account-issuer.ts';
import { externalIssuer, type TokenIssuer } from '../../identity/jwt/token-issuer.ts';
import type { Logger } from '../../runtime/logger.ts';
import { describeIssues } from '../../snapshot/format/issues.ts';
import type { JwtConfig } from '../configuration/serve-config.ts';
import { checkServerIdentity } from '../destinations/server-identity.ts';
import { parseKeySetText, parsePublicKeyFile } from './pem-files.ts';

/** The authenticator, and how to close its connections. */
export interface RunningJwtAuthenticator {
  readonly authenticator: JwtAuthenticator;
  close(): Promise<void>;
}

/**
 * `undefined` if no issuer is configured.
 * @param clock milliseconds since the epoch
 */
export function createJwtAuthenticator(
  config: JwtConfig,
  logger: Logger,
  clock: () => number = Date.now,
): RunningJwtAuthenticator | undefined {
  const closing: (() => Promise<void>)[] = [];
  const issuers = [
    ...config.issuers.map((each) => {
      const load = loadFrom(each, closing);
      return externalIssuer(
        each.issuer,
        new CachedKeys({ issuer: each.issuer, load, logger, clock }),
        each.policy,
      );
    }),
    ...serviceAccountIssuers(config.serviceAccounts, logger, clock),
  ];
  if (issuers.length === 0) return undefined;
  return {
    authenticator: new JwtAuthenticator({ issuers, logger, clock }),
    async close() {
      await Promise.all(closing.map((close) => close()));
    },
  };
}

function loadFrom({ issuer, keys }: ExternalIssuerConfig, closing: (() => Promise<void>)[]): LoadKeys {
  if (keys.kind === 'file') return keysFromFile(keys.path, parseKeySetText);
  const { fetchDocument, close } = issuerFetch(keys.certificateAuthority);
  closing.push(close);
  return keys.kind === 'url'
    ? keysFromUrl(fetchDocument, keys.url)
    : keysFromDiscovery(fetchDocument, { issuer, discoveryUrl: keys.url });
}

function serviceAccountIssuers(
  config: JwtConfig['serviceAccounts'],
  logger: Logger,
  clock: () => number,
): TokenIssuer[] {
  if (config === undefined) return [];
  const files = config.keyFiles.map((path) => keysFromFile(path, parsePublicKeyFile));
  const [issuer = ''] = config.issuers;
  const keys: KeySource = new CachedKeys({
    issuer,
    load: async () => (await Promise.all(files.map((load) => load()))).flat(),
    logger,
    clock,
  });
  return config.issuers.map((each) => serviceAccountIssuer(each, keys, config.apiAudiences));
}

/** Reads the file again whenever keys are refreshed, so that a rotation needs no restart. */
function keysFromFile(path: string, parse: (text: string) => Promise<ParsedKeySet>): LoadKeys {
  return async () => {
    const { keys, issues } = await parse(await readFile(path, 'utf8'));
    // A file with invalid keys is a failed rotation: the known keys stay in use.
    if (issues.length > 0) throw new KeyLoadError('InvalidDocument', `${path}: ${describeIssues(issues)}`);
    return keys;
  };
}

interface IssuerFetch {
  readonly fetchDocument: FetchDocument;
  close(): Promise<void>;
}

/**
 * Fetches the documents of one issuer with connections of its own, so that its authority is trusted for no other.
 * @param certificateAuthority PEM; then only this one is trusted, as in kube-apiserver. Default: Node's own authorities
 */
export function issuerFetch(certificateAuthority: string | undefined): IssuerFetch {
  const dispatcher = new Agent({
    connect: {
      checkServerIdentity,
      ...(certificateAuthority === undefined ? {} : { ca: certificateAuthority }),
    },
  });
  return {
    fetchDocument: (url, init) => fetch(url, { ...init, dispatcher }),
    close: () => dispatcher.destroy(),
  };
}
