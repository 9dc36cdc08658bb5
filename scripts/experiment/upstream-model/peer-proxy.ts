import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import {
  type AuthenticationOptions,
  type ExampleUser,
  makeAuthenticate,
} from '../../../demo/example-api-server/authentication.ts';
import { presentedCertificate } from '../../../demo/example-api-server/http-server.ts';
import {
  apiServerId,
  type ExampleStore,
  type KubernetesVersionName,
  type RequestFilter,
} from '../../../demo/example-api-server/index.ts';
import { parseRequestInfo } from '../../../src/apimachinery/request-info.ts';
import { forwardToPeer } from './forward-to-peer.ts';
import {
  groupVersionsOf,
  mergedDiscovery,
  type ServedGroupVersions,
  servedPath,
} from './merged-discovery.ts';
import { PeerCache } from './peer-cache.ts';

interface PeerProxyOptions {
  readonly version: KubernetesVersionName;
  readonly name: string;
  readonly store: ExampleStore;
  readonly authentication: AuthenticationOptions;
  /** PEM, as --peer-ca-file. */
  readonly certificateAuthority: string;
  /** PEM, as --proxy-client-cert-file and --proxy-client-key-file. */
  readonly frontProxyClient: { readonly cert: string; readonly key: string };
}

const rerouted = 'x-kubernetes-peer-proxied';

/**
 * A model of the peer proxy of kube-apiserver 1.36 (KEP-4020, k8s.io/apiserver pkg/util/peerproxy): a request for a
 * resource that this server does not serve goes to one random peer that does, once; 503 when that fails.
 *
 * Where it is kinder than the original is listed in bench/results/upgrade.md.
 */
export function createPeerProxy(options: PeerProxyOptions): RequestFilter {
  const local = groupVersionsOf(options.version);
  const peers = new PeerCache({ ...options, ownId: apiServerId(options.name) });
  const authenticate = makeAuthenticate(options.authentication, () => undefined);

  return (request, response, next) => {
    const target = request.url;
    if (target === servedPath) {
      answerJson(response, 'application/json', local);
      return;
    }
    // peerproxy_handler.go: what a peer has sent is handled here, whatever comes of it.
    if (request.headers[rerouted] === 'true') return next();
    if (wantsMergedDiscovery(request)) {
      answerJson(
        response,
        'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
        mergedDiscovery([local, ...peers.served()]),
      );
      return;
    }
    const info = parseRequestInfo(request.method, target);
    if (!info.isResourceRequest) return next();
    const groupVersion = info.apiGroup === '' ? info.apiVersion : `${info.apiGroup}/${info.apiVersion}`;
    if (local[groupVersion]?.includes(info.resource) === true) return next();
    const candidates = peers.addressesServing(groupVersion, info.resource);
    // Drawn evenly, whatever is known of its health, which is nothing.
    const address = candidates[Math.floor(Math.random() * candidates.length)];
    if (address === undefined) return next();
    forwardToPeer({ request, response, address, user: callerOf(request), ...options });
  };

  function callerOf(request: Http2ServerRequest): ExampleUser {
    return authenticate(request.rawHeaders, presentedCertificate(request.socket));
  }
}

/** Only `/apis` in its aggregated form is merged (aggregated/wrapper.go); `/api` and all else stay local. */
function wantsMergedDiscovery({ url, headers }: Http2ServerRequest): boolean {
  const accept = headers.accept ?? '';
  return url === '/apis' && accept.includes('as=APIGroupDiscoveryList') && !accept.includes('profile=nopeer');
}

function answerJson(
  response: Http2ServerResponse,
  contentType: string,
  content: ServedGroupVersions | object,
): void {
  response.writeHead(200, { 'content-type': contentType });
  response.end(JSON.stringify(content));
}
