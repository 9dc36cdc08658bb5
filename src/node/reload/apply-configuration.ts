import type { ServeConfig } from '../configuration/serve-config.ts';
import type { NodeTransport } from '../destinations/node-transport.ts';
import type { FollowedServers } from '../health/followed-servers.ts';
import type { EndpointServer } from '../serving/endpoint-server.ts';
import type { RouterServer } from '../serving/server.ts';
import type { ConfigurationReading } from './configuration-source.ts';
import type { Credentials } from './credentials.ts';
import type { Generation, LiveGeneration } from './generation.ts';
import type { EmbeddedSync } from './open-embedded-sync.ts';
import type { LimitedParts, TrafficControl } from './traffic-control.ts';

/** Everything that goes by a configuration while the router runs. */
export interface ConfigurationUsers extends LimitedParts {
  readonly live: Pick<LiveGeneration, 'current'>;
  /** Makes the next generation, which is not in use yet. */
  readonly createGeneration: (
    reading: Pick<ConfigurationReading, 'config' | 'needsRestart'>,
    last: Generation,
  ) => Promise<Generation>;
  readonly server: Pick<RouterServer, 'setSecureContext'> & LimitedParts['server'];
  /** `undefined` where there is no admin address. */
  readonly admin: Pick<EndpointServer, 'setCertificate'> | undefined;
  readonly transport: Pick<NodeTransport, 'updateCredentials'> & LimitedParts['transport'];
  readonly traffic: Pick<TrafficControl, 'configure'>;
  /** Has the connections to everywhere but the local server opened anew, once they are idle. */
  readonly endPeerConnections: () => void;
  /** Left out where servers are not probed. */
  readonly servers: Pick<FollowedServers, 'configure'> | undefined;
  /** Left out where snapshots are pushed. */
  readonly embeddedSync?: Pick<EmbeddedSync, 'prepare'> | undefined;
  /** Called last, for settings that no part of the router holds: the log's verbosity, metrics. */
  readonly onApplied: (config: ServeConfig) => void;
}

/**
 * Takes a checked configuration into use while the router runs. What can refuse it comes first, and leaves everything
 * as it was; the rest cannot fail. What `config` has of settings that take a restart is that of the start, and nobody
 * here looks at it.
 * @throws when a certificate, a key or an issuer's authority cannot be used after all.
 */
export async function applyConfiguration(
  reading: Pick<ConfigurationReading, 'config' | 'needsRestart'>,
  users: ConfigurationUsers,
): Promise<void> {
  const { live, traffic, servers } = users;
  const { config } = reading;
  const last = live.current;
  const next = await users.createGeneration(reading, last);
  const readCluster = await users.embeddedSync?.prepare(config);
  takeCertificates(last.credentials, next.credentials, users);
  live.current = next;
  if (next.jwt !== last.jwt) {
    void next.jwt?.authenticator.prepare();
    // What it is loading ends by itself; it is not used any more.
    void last.jwt?.close();
  }
  traffic.configure(config, users);
  if (config.health !== undefined) servers?.configure(config.health);
  // An open connection is not checked again: what may not be dialled any more must not live on in one.
  if (JSON.stringify(config.peerAddresses) !== JSON.stringify(last.config.peerAddresses)) {
    users.endPeerConnections();
  }
  readCluster?.();
  users.onApplied(config);
}

/**
 * Both sides of TLS, or neither.
 *
 * - Clients: new connections are verified by the new CAs. Open ones stay; their certificate is judged again, and one
 *   of a CA that is gone yields no identity (`Generation.clientCertificates`).
 * - API servers and peers: where something has changed, new connections use the new CA and pair, and the old ones end
 *   once their requests have (`transport.updateCredentials`).
 */
function takeCertificates(
  last: Credentials,
  next: Credentials,
  { server, admin, transport }: ConfigurationUsers,
): void {
  server.setSecureContext(next.server);
  // A pair that the server has taken.
  admin?.setCertificate(next.admin);
  try {
    const isChanged =
      JSON.stringify(last.transport) !== JSON.stringify(next.transport) ||
      last.localAuthorities !== next.localAuthorities;
    if (isChanged) transport.updateCredentials(next.transport);
  } catch (error) {
    server.setSecureContext(last.server);
    admin?.setCertificate(last.admin);
    throw error;
  }
}
