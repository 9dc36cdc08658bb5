import { type AddressPolicy, createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { ClientCertificateReader } from '../callers/client-certificate.ts';
import { createJwtAuthenticator } from '../callers/configured-jwt-authenticator.ts';
import { canAssertLocally } from '../callers/destination-identity.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import type { ClientCertificateOf } from '../exchange/node-inbound.ts';
import type { ConfigurationReading } from './configuration-source.ts';
import { credentialsOf } from './credentials.ts';
import {
  createRouterHandlers,
  type HandlerSettings,
  type RouterHandlers,
  type RouterParts,
} from './router-handlers.ts';

/** All that is made of one configuration. Nothing in it changes: a reload makes the next one. */
export interface Generation extends HandlerSettings {
  readonly addressPolicy: AddressPolicy;
  readonly handlers: RouterHandlers;
}

/**
 * Opens nothing, so that one that is not used can be dropped.
 * @param parts what lives as long as the router
 * @param last the generation in use; left out at the start
 * @throws when a bundle of certificates, an address block or an issuer's authority cannot be used
 */
export async function createGeneration(
  { config, needsRestart }: Pick<ConfigurationReading, 'config' | 'needsRestart'>,
  parts: RouterParts,
  last?: Generation,
): Promise<Generation> {
  const credentials = credentialsOf(config);
  const made: HandlerSettings = {
    config,
    settings: { needsRestart: () => needsRestart, found: () => config.commandLine.found },
    credentials,
    clientCertificates: new ClientCertificateReader(credentials.clientAuthorities),
    jwt: jwtAuthenticatorOf(config, parts, last),
  };
  return {
    ...made,
    addressPolicy: createAddressPolicy(config.peerAddresses),
    handlers: await createRouterHandlers(made, parts),
  };
}

/** That of the generation before, with the keys it has loaded, where the issuers are the same. */
function jwtAuthenticatorOf(
  config: ServeConfig,
  { app: { logger } }: RouterParts,
  last: Generation | undefined,
): Generation['jwt'] {
  // Then callers use their own credentials.
  if (!canAssertLocally(config)) return undefined;
  const isSame = last !== undefined && jwtSettings(last.config) === jwtSettings(config);
  return isSame ? last.jwt : createJwtAuthenticator(config.jwt, logger);
}

function jwtSettings({ jwt }: ServeConfig): string {
  return JSON.stringify([jwt.configurationFile?.text, jwt.serviceAccounts]);
}

/** The generation in use. What outlives it asks here each time, and so goes by the next one as soon as it is there. */
export class LiveGeneration {
  current: Generation;

  constructor(first: Generation) {
    this.current = first;
  }

  /** A request that is under way ends with the handlers it began with: it never meets halves of two configurations. */
  readonly fetch: RouterHandlers['fetch'] = (request, bindings) =>
    this.current.handlers.fetch(request, bindings);

  readonly onUpgrade: RouterHandlers['onUpgrade'] = (incoming, socket, firstBytes) =>
    this.current.handlers.onUpgrade(incoming, socket, firstBytes);

  readonly admin: RouterHandlers['admin'] = (request) => this.current.handlers.admin(request);

  readonly clientCertificateOf: ClientCertificateOf = (incoming) =>
    this.current.clientCertificates.read(incoming);
}

/** For those who ask for parts of it with each snapshot and each dial. */
export function liveAddressPolicy(current: () => AddressPolicy): AddressPolicy {
  return {
    get allowLoopbackPeers() {
      return current().allowLoopbackPeers;
    },
    get allowedCidrs() {
      return current().allowedCidrs;
    },
    get allowedPorts() {
      return current().allowedPorts;
    },
  };
}
