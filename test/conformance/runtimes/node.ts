import { localId } from '../../support/clusters/decision-rows.ts';
import { startRouterByFlags } from '../../support/routers/router-by-flags.ts';
import { completeServeOptions } from '../../support/routers/serve-options.ts';
import type { Cluster } from '../cluster.ts';
import {
  assertionKeysText,
  clientTls,
  clusterAuthority,
  frontProxyAuthority,
  frontProxyPair,
  serverPair,
  snapshotKeysText,
} from '../credentials.ts';
import type { ConformanceRuntime, RunningRuntime } from '../runtime.ts';
import type { WireClient } from '../wire/exchange.ts';
import { http1Client } from '../wire/http1-client.ts';
import { http2Client } from '../wire/http2-client.ts';
import {
  doesNotApply,
  notPossible,
  onlyHttp1,
  onlyHttp2,
  spdyIsTunnelled,
  tokensPassThrough,
} from './reservations.ts';

const noUpgradesOverHttp2 = notPossible(
  'HTTP/2 has no upgrades, and extended CONNECT (RFC 8441) is not offered, by kube-apiserver neither: clients open a connection of HTTP/1.1.',
);

/** The router as `serve` starts it, asked over HTTP/1.1. */
export const nodeHttp1: ConformanceRuntime = {
  id: 'node-http1',
  title: 'Node, HTTP/1.1',
  description: 'The Node adapter, started from the flags of `serve`, over TLS and HTTP/1.1.',
  lacks: { http2: onlyHttp1, jwt: tokensPassThrough, spdyRefusal: spdyIsTunnelled },
  start: (cluster) => startNode(cluster, (port) => http1Client({ port, tls: clientTls })),
};

/** The same, asked over HTTP/2. */
export const nodeHttp2: ConformanceRuntime = {
  id: 'node-http2',
  title: 'Node, HTTP/2',
  description: 'The Node adapter, started from the flags of `serve`, over TLS and HTTP/2.',
  lacks: {
    http1: onlyHttp2,
    http1Bytes: onlyHttp2,
    jwt: tokensPassThrough,
    websocket: noUpgradesOverHttp2,
    spdy: noUpgradesOverHttp2,
    spdyRefusal: doesNotApply('No client can ask for it over HTTP/2.'),
  },
  start: (cluster) => startNode(cluster, (port) => http2Client({ port, tls: clientTls })),
};

async function startNode(cluster: Cluster, connect: (port: number) => WireClient): Promise<RunningRuntime> {
  const files: Readonly<Record<string, string>> = {
    'ca.crt': clusterAuthority.certificate,
    'front-proxy-ca.crt': frontProxyAuthority.certificate,
    'serving.crt': serverPair.chain,
    'serving.key': serverPair.privateKey,
    'front-proxy-client.crt': frontProxyPair.chain,
    'front-proxy-client.key': frontProxyPair.privateKey,
    'snapshot-keys.json': snapshotKeysText,
    'assertion-keys.json': assertionKeysText,
  };
  const router = await startRouterByFlags(
    {
      ...completeServeOptions,
      'snapshot-file': undefined,
      'server-id': [localId],
      'local-server': [`https://${cluster.addresses[localId]}`],
      'bind-address': ['127.0.0.1'],
      'secure-port': ['0'],
      'assertion-keys': ['assertion-keys.json'],
      'allow-loopback-peers': ['true'],
    },
    { readFile: (path) => files[path] ?? missingFile(path) },
  );
  const client = connect(Number(new URL(router.origin).port));
  return {
    client,
    async close() {
      await client.close();
      await router.close(0);
    },
  };
}

function missingFile(path: string): never {
  throw new Error(`no file ${path}`);
}
