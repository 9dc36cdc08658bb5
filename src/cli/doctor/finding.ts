import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { Destination } from '../../request/destination.ts';
import { type AddressPolicy, createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** What one check of `doctor` has found. */
export interface Finding {
  /** The thing that was examined, such as `serving certificate` or `server cp-a`. */
  readonly check: string;
  readonly result: 'ok' | 'warning' | 'failed';
  /** The fact, and for anything but `ok` what to do about it. */
  readonly message: string;
  /** What the message is about, where that is more than a sentence holds. */
  readonly resources?: readonly string[];
}

/** 0: all is well; 1: something needs attention; 2: something does not work. */
export function exitCodeOf(findings: readonly Finding[]): 0 | 1 | 2 {
  if (findings.some(({ result }) => result === 'failed')) return 2;
  return findings.some(({ result }) => result === 'warning') ? 1 : 0;
}

/** A server that the router may send to, and how it is to be checked. */
export interface ExaminedServer extends Destination {
  readonly kind: 'local' | 'peer';
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
  const addressPolicy = createAddressPolicy(config.peerAddresses);
  const own: ExaminedServer[] =
    local === undefined
      ? []
      : [
          {
            kind: 'local',
            id: serverId ?? 'local',
            origin: local.origin,
            serverName: local.serverName,
            trust,
            certificateAuthorities: local.ca.pem,
          },
        ];
  if (peerCa === undefined) return own;
  const peers = (table?.servers ?? []).flatMap(({ id, origin, serverName }): ExaminedServer[] =>
    origin === undefined || id === serverId
      ? []
      : [{ kind: 'peer', id, origin, serverName, trust, certificateAuthorities: peerCa.pem, addressPolicy }],
  );
  return [...own, ...peers];
}

/** One question to a server. */
export interface Question {
  readonly method: 'GET' | 'POST';
  /** A path. */
  readonly target: string;
  /** JSON. */
  readonly body?: string;
}

/** Milliseconds that a server may take to respond. */
export const responseTimeout = 5_000;

/** Bytes that a response may have. */
export const longestResponse = 1024 * 1024;

/** Header lines of a question: name, value, name, value, … */
export function questionHeaders({ body }: Question): readonly string[] {
  const headers = ['accept', 'application/json', 'user-agent', 'mixed-version-proxy'];
  return body === undefined ? headers : [...headers, 'content-type', 'application/json'];
}
