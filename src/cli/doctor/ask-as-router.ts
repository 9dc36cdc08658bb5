import { parseRequestInfo } from '../../apimachinery/request-info.ts';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { askOverHttps, type HttpsResponse } from '../../node/destinations/https-client.ts';
import { buildOutboundRequest } from '../../proxy/delivery/outbound.ts';
import { newPseudonym } from '../../request/headers.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { Caller, UserInfo } from '../../request/user-info.ts';
import {
  type ExaminedServer,
  longestResponse,
  type Question,
  questionHeaders,
  responseTimeout,
} from './finding.ts';

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

export type AskAsRouter = (server: ExaminedServer, question: Question) => Promise<HttpsResponse>;

/**
 * Asks servers as the router would for `doctorUser`: stamped at the same place, over mTLS with the same pair.
 * Without a pair nothing is asserted and no certificate shown.
 */
export function askAsRouter(config: ServeConfig): AskAsRouter {
  const { proxyClient, identityHeaderNames } = config;
  const options = {
    identityHeaderNames,
    pseudonym: newPseudonym(),
  };
  return async (server, question) => {
    const { method, target, body } = question;
    const inbound: InboundRequest = {
      method,
      target,
      headers: questionHeaders(question),
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
