import { durationText } from '../../dashboard/duration-text.ts';
import type { ServeConfig } from '../../node/serve-config.ts';
import { type AddressPolicy, createAddressPolicy } from '../../snapshot/address-policy.ts';
import type { RoutingTable } from '../../snapshot/routing-table.ts';
import { askOverHttps, type HttpsAnswer } from '../ask-over-https.ts';
import { messageOf } from '../command-context.ts';
import type { Finding } from './finding.ts';

/** A server to try, and how it is to be checked. */
interface Candidate {
  readonly id: string;
  readonly origin: string;
  readonly serverName: string;
  readonly certificateAuthorities: string;
  /** For peers, whose addresses are the snapshot's. */
  readonly addressPolicy?: AddressPolicy;
}

/** Milliseconds that a server may take. */
const patience = 5_000;

/** A Date header counts whole seconds, and the answer takes its time: less than this is no skew. */
const tolerableSkew = 10_000;

/**
 * Asks every server that the router may send to for /readyz, over TLS as the router checks it: address, certificate,
 * name, readiness and clock. No identity is asserted.
 */
export async function serverFindings(
  config: ServeConfig,
  table: RoutingTable | undefined,
  clock: () => number,
): Promise<readonly Finding[]> {
  const unreachable = (table?.servers ?? []).filter(
    ({ id, origin }) => origin === undefined && id !== config.serverId,
  );
  const tried = await Promise.all(
    candidatesOf(config, table).map((server) => tryServer(server, config, clock)),
  );
  return [
    ...tried.flat(),
    ...unreachable.map(
      ({ id }): Finding => ({
        check: `server ${id}`,
        result: 'warning',
        message:
          'the snapshot has no address of it: does it set --peer-advertise-ip, or has the sync job a --server?',
      }),
    ),
  ];
}

function candidatesOf(config: ServeConfig, table: RoutingTable | undefined): readonly Candidate[] {
  const { local, peerCa, serverId } = config;
  const addressPolicy = createAddressPolicy(config.peerAddresses);
  const own: Candidate[] =
    local === undefined ? [] : [{ ...local, id: serverId ?? 'local', certificateAuthorities: local.ca.pem }];
  if (peerCa === undefined) return own;
  const peers = (table?.servers ?? []).flatMap(({ id, origin, serverName }) =>
    origin === undefined || id === serverId
      ? []
      : [{ id, origin, serverName, certificateAuthorities: peerCa.pem, addressPolicy }],
  );
  return [...own, ...peers];
}

async function tryServer(
  server: Candidate,
  { proxyClient }: ServeConfig,
  clock: () => number,
): Promise<readonly Finding[]> {
  const { id, origin } = server;
  const check = `server ${id}`;
  try {
    const { status, date } = await askReadiness(server, proxyClient);
    const ready: Finding =
      status === 200
        ? { check, result: 'ok', message: `${origin} is ready` }
        : {
            check,
            result: 'warning',
            message: `${origin}/readyz answers with ${status}: ${adviceOn(status)}`,
          };
    return [ready, ...skewOf(check, date, clock())];
  } catch (error) {
    const hint = hints[codeOf(error)] ?? '';
    return [{ check, result: 'failed', message: `${origin} cannot be reached: ${messageOf(error)}${hint}` }];
  }
}

function askReadiness(
  { origin, serverName, certificateAuthorities, addressPolicy }: Candidate,
  proxyClient: ServeConfig['proxyClient'],
): Promise<HttpsAnswer> {
  return askOverHttps({
    url: `${origin}/readyz`,
    serverName,
    certificateAuthorities,
    clientCertificate: proxyClient && {
      certificate: proxyClient.certificate.pem,
      key: proxyClient.privateKey.pem,
    },
    headers: [],
    addressPolicy,
    patience,
    longestAnswer: 1024 * 1024,
  });
}

function adviceOn(status: number): string {
  return status === 401 || status === 403
    ? 'it is there, and lets nobody ask who is not known to it'
    : 'see its own log';
}

const hints: Readonly<Partial<Record<string, string>>> = {
  ECONNREFUSED: '. Nothing listens there: does the server run?',
  ENOTFOUND: '. The name is not known',
  ABORT_ERR: `. It did not answer within ${patience / 1000} s: is a firewall in between?`,
  ERR_TLS_CERT_ALTNAME_INVALID: '. Its certificate has another name: see --local-server-name',
  CERT_HAS_EXPIRED: '. Its certificate has expired: renew it there',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    '. Its certificate is of another CA: see --peer-ca-file and --local-server-ca-file',
  SELF_SIGNED_CERT_IN_CHAIN:
    '. Its certificate is of another CA: see --peer-ca-file and --local-server-ca-file',
};

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

function skewOf(check: string, date: string | undefined, now: number): readonly Finding[] {
  const skew = date === undefined ? 0 : Date.parse(date) - now;
  if (!(Math.abs(skew) > tolerableSkew)) return [];
  const direction = skew > 0 ? 'ahead of' : 'behind';
  const message = `its clock is ${durationText(Math.abs(skew))} ${direction} this one: lifetimes of snapshots and tokens go by both, set them by NTP`;
  return [{ check, result: 'warning', message }];
}
