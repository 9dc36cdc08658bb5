import { type AppParts, createApp } from '../../../src/app.ts';
import { RequestHeaderAuthenticator } from '../../../src/identity/request-header.ts';
import { X509Authenticator } from '../../../src/identity/x509.ts';
import type { AppOptions } from '../../../src/own-app.ts';
import { type ConnectionInfo, inboundFromRequest } from '../../../src/request/inbound.ts';
import { silentLogger } from '../../../src/runtime/logger.ts';
import { createAddressPolicy } from '../../../src/snapshot/addresses/address-policy.ts';
import type { Snapshot } from '../../../src/snapshot/format/schema.ts';
import { SnapshotReceiver } from '../../../src/snapshot/receiving/receiver.ts';
import { createMemorySnapshotStore } from '../../../src/snapshot/receiving/snapshot-store.ts';
import { parseSnapshotKeys } from '../../../src/snapshot/signing/keys.ts';
import { generateSigningKey, sealSnapshot, signingKeyOf } from '../../../src/snapshot/signing/seal.ts';
import { localId } from '../clusters/decision-rows.ts';
import { type RecordingTransport, recordingTransport } from './recording-transport.ts';

const generated = await generateSigningKey('EdDSA');
const parsed = await parseSnapshotKeys(JSON.stringify({ keys: [generated.publicJwk] }));
if (!parsed.ok) throw new Error('the generated key cannot be pinned');
const { keys } = parsed;

/** Seals with the one key that the receivers of the tests have pinned. */
export function seal(snapshot: Snapshot): Promise<string> {
  return sealSnapshot(snapshot, signingKeyOf(generated.privateJwk));
}

/**
 * A receiver that holds `snapshot`, taken through the same door as a pushed one.
 * @param receivedAt by the clock that decides. Default: now
 */
export async function receiverHolding(snapshot?: Snapshot, receivedAt?: number): Promise<SnapshotReceiver> {
  const receiver = new SnapshotReceiver({
    ...(receivedAt === undefined ? {} : { steadyClock: () => receivedAt }),
    keys: () => keys,
    addressPolicy: createAddressPolicy({ allowLoopback: true }),
    store: createMemorySnapshotStore(),
    logger: silentLogger,
  });
  if (snapshot !== undefined) await receiver.accept(await seal(snapshot));
  return receiver;
}

/** The connection of a front proxy whose word counts. */
export const frontProxyConnection: ConnectionInfo = {
  remoteAddress: '10.0.0.9',
  clientCertificate: {
    commonName: 'front-proxy-client',
    organizations: [],
    authority: 'requestheader-client-ca',
  },
};

/** The connection of a user with a client certificate. */
export function userConnection(commonName: string, organizations: readonly string[] = []): ConnectionInfo {
  return {
    remoteAddress: '10.0.0.8',
    clientCertificate: { commonName, organizations, authority: 'client-ca' },
  };
}

export interface TestAppOptions extends Partial<Omit<AppOptions & AppParts, 'transport'>> {
  readonly snapshot?: Snapshot | undefined;
  /** When it came, by `steadyClock`. Default: now. */
  readonly receivedAt?: number;
  readonly transport?: RecordingTransport;
  /** When the snapshot was last confirmed, by `monotonicClock`. Default: nobody is asked. */
  readonly confirmedAt?: () => number;
  /** Facts of every connection that the adapter would know. */
  readonly connection?: ConnectionInfo;
}

/** The whole app as a fetch handler, with a transport that records. */
export async function testApp(options: TestAppOptions = {}) {
  const {
    snapshot,
    receivedAt,
    confirmedAt,
    connection = {},
    transport = recordingTransport(),
    ...rest
  } = options;
  const receiver = await receiverHolding(snapshot, receivedAt);
  const requestHeader = new RequestHeaderAuthenticator({ allowedNames: ['front-proxy-client'] });
  const app = createApp({
    local: {
      kind: 'local',
      id: localId,
      origin: 'https://127.0.0.1:6444',
      serverName: 'kubernetes.default.svc',
      trust: { kind: 'peer-ca' },
    },
    routingTable: confirmedAt === undefined ? receiver : Object.assign(receiver, { confirmedAt }),
    transport,
    logger: silentLogger,
    authenticators: [requestHeader, new X509Authenticator()],
    isVerifiedPeer: (inbound) => requestHeader.isVerifiedPeer(inbound),
    inbound: (request) => inboundFromRequest(request, connection),
    ...rest,
  });
  return { app, receiver, transport };
}
