import { startWorkerd } from '../../../demo/edge/start-workerd.ts';
import { clientTls, clusterAuthority } from '../credentials.ts';
import type { ConformanceRuntime } from '../runtime.ts';
import { edgeEnvironment } from './edge-environment.ts';
import { edgeTls, startEdgeRuntime } from './edge-process.ts';
import { nobodyAsserts, notPossible, onlyHttp1, unnoticedDepartures, urlParsed } from './reservations.ts';
import { workerBuild } from './worker-build.ts';

/** workerd itself, configured as docs/guides/edge.md has it: mTLS on both sides. */
export const workerd: ConformanceRuntime = {
  id: 'workerd',
  title: 'workerd, self-hosted',
  description:
    'The built Worker on workerd itself: only clients with a certificate may connect, servers get X-Remote headers over mutual TLS.',
  lacks: {
    assertions: nobodyAsserts,
    exactTarget: urlParsed,
    http2: onlyHttp1,
    clientCertificates: notPossible(
      'workerd demands client certificates and does not tell the Worker whose they are.',
    ),
    spdy: notPossible(
      'A Worker can pass on WebSockets only: SPDY is refused with a 400 Status that says so.',
    ),
  },
  exceptions: unnoticedDepartures,
  start: (cluster) =>
    startEdgeRuntime(
      async (directory) =>
        startWorkerd({
          directory,
          build: await workerBuild(),
          tls: { ...edgeTls('front-proxy'), clientAuthorities: clusterAuthority.certificate },
          environment: edgeEnvironment(cluster, 'front-proxy'),
        }),
      // The certificate's owner does not matter: without one nobody may connect.
      (certificate = 'alice') => clientTls(certificate),
    ),
};
