import { parseRequestInfo } from '../../apimachinery/request-info.ts';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { askOverHttps, type HttpsResponse } from '../../node/destinations/https-client.ts';
import { buildOutboundRequest } from '../../proxy/outbound.ts';
import type { Destination } from '../../request/destination.ts';
import { newPseudonym } from '../../request/headers.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { Caller, UserInfo } from '../../request/user-info.ts';
import { type AddressPolicy, createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

export interface Finding {
  /** The thing that was examined, such as `serving certificate` or `server cp-a`. */
  readonly check: string;
  readonly result: 'ok' | 'warning' | 'failed';
  /** The fact, and for anything but `ok` what to do about it. */
  readonly message: string;
  /** Resources that the message is about, where they are more than a sentence holds. */
  readonly resources?: readonly string[];
}

export const ok = (check: string, message: string): Finding => ({ check, result: 'ok', message });
export const warning = (check: string, message: string, resources?: readonly string[]): Finding => ({
  check,
  result: 'warning',
  message,
  ...(resources && { resources }),
});
export const failed = (check: string, message: string): Finding => ({ check, result: 'failed', message });

/** 0: all is well; 1: something needs attention; 2: something does not work. */
export function exitCodeOf(findings: readonly Finding[]): 0 | 1 | 2 {
  if (findings.some(({ result }) => result === 'failed')) return 2;
  return findings.some(({ result }) => result === 'warning') ? 1 : 0;
}

/** A server that the router may send to, and how it is to be checked. */
export interface ExaminedServer extends Destination {
  /** PEM. */
  readonly certificateAuthorities: string;
  /** For peers, whose addresses are the snapshot's. */
  readonly addressPolicy?: AddressPolicy;
}

/** The local server, and the peers that the snapshot has an address of. Pure. */
export function examinedServers(
  config: ServeConfig,
  table: RoutingTable | undefined,
): readonly ExaminedServer[] {
  const { local, peerCa, serverId } = config;
  const trust = { kind: 'peer-ca' } as const;
  const addressPolicy = createAddressPolicy(config.settings.peers);
  const examined: ExaminedServer[] = [];
  if (local !== undefined) {
    const { origin, serverName, ca } = local;
    const id = serverId ?? 'local';
    examined.push({ kind: 'local', id, origin, serverName, trust, certificateAuthorities: ca.pem });
  }
  for (const { id, origin, serverName } of table?.servers ?? []) {
    if (peerCa === undefined || origin === undefined || id === serverId) continue;
    const certificateAuthorities = peerCa.pem;
    examined.push({ kind: 'peer', id, origin, serverName, trust, certificateAuthorities, addressPolicy });
  }
  return examined;
}

/** Milliseconds that a server may take to respond. */
export const responseTimeout = 5_000;

const longestResponse = 1024 * 1024;

/**
 * In whose name servers are asked: a user that nobody has bound a role to, so that what it may do is what every
 * authenticated user may (ClusterRoles `system:discovery`, `system:basic-user`, `system:public-info-viewer`). It has
 * a value of each kind that is stamped, to see which of them arrive; a UID is left out, for servers before 1.32 read
 * none.
 */
export const doctorUser: UserInfo = {
  name: 'mixed-version-proxy:doctor',
  uid: '',
  groups: ['mixed-version-proxy:doctor'],
  extra: new Map([['mixed-version-proxy/doctor', ['asked']]]),
};

/** @param body makes it a POST */
export type AskAsRouter = (server: ExaminedServer, target: string, body?: string) => Promise<HttpsResponse>;

/**
 * Asks servers as the router would for `doctorUser`: stamped at the same place, over mTLS with the same pair.
 * Without a pair nothing is asserted and no certificate shown.
 */
export function askAsRouter(config: ServeConfig): AskAsRouter {
  const { proxyClient, identityHeaderNames } = config;
  const options = { identityHeaderNames, pseudonym: newPseudonym() };
  return async (server, target, body) => {
    const method = body === undefined ? 'GET' : 'POST';
    const headers = ['accept', 'application/json', 'user-agent', 'mixed-version-proxy'];
    const inbound: InboundRequest = {
      method,
      target,
      headers: body === undefined ? headers : [...headers, 'content-type', 'application/json'],
      connection: {},
      body: () => null,
      signal: AbortSignal.timeout(responseTimeout),
    };
    const outbound = await buildOutboundRequest(
      {
        inbound,
        requestInfo: parseRequestInfo(method, target),
        caller: proxyClient === undefined ? { kind: 'passthrough' } : doctor,
        decision: { decision: 'local', reason: 'NotAResourceRequest', candidates: [] },
      },
      server,
      options,
    );
    return askOverHttps({
      origin: server.origin,
      path: target,
      method,
      body,
      serverName: server.serverName,
      certificateAuthorities: server.certificateAuthorities,
      clientCertificate:
        proxyClient !== undefined && outbound.presentFrontProxyCertificate
          ? { certificate: proxyClient.certificate.pem, key: proxyClient.privateKey.pem }
          : undefined,
      headers: outbound.headers,
      addressPolicy: server.addressPolicy,
      responseTimeout,
      longestResponse,
    });
  };
}

const doctor: Caller = {
  kind: 'authenticated',
  user: doctorUser,
  authenticator: 'none',
  viaVerifiedPeer: false,
};
