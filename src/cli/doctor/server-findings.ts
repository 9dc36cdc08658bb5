import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import { askOverHttps } from '../../node/destinations/https-client.ts';
import { durationText } from '../../runtime/duration-text.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { CommandContext } from '../terminal/command-context.ts';
import { connectionError } from '../terminal/connection-error.ts';
import {
  type AskAsRouter,
  type ExaminedServer,
  type Finding,
  failed,
  ok,
  responseTimeout,
  warning,
} from './finding.ts';

/** A Date header counts whole seconds, and a response takes time: less than this is no skew. */
const tolerableSkew = 10_000;

interface ServerFindings {
  readonly findings: readonly Finding[];
  readonly reached: readonly ExaminedServer[];
}

/**
 * Asks every server that the router may send to for /readyz, over TLS as the router checks it: address, certificate,
 * name, readiness and clock.
 */
export async function serverFindings(
  servers: readonly ExaminedServer[],
  ask: AskAsRouter,
  clock: () => number,
): Promise<ServerFindings> {
  const tried = await Promise.all(servers.map((server) => tryServer(server, ask, clock)));
  return {
    findings: tried.flatMap(({ findings }) => findings),
    reached: tried.flatMap(({ reached }) => reached),
  };
}

export function addressFindings(
  { serverId }: ServeConfig,
  table: RoutingTable | undefined,
): readonly Finding[] {
  const without = (table?.servers ?? []).filter(({ id, origin }) => origin === undefined && id !== serverId);
  return without.map(({ id, departed }) =>
    warning(
      `server ${id}`,
      departed
        ? 'it has left, and may come back: requests for what only it serves get 503 meanwhile'
        : 'the snapshot has no address of it: has the sync job a --server for it, or was its router given an --advertise-address?',
    ),
  );
}

async function tryServer(
  server: ExaminedServer,
  ask: AskAsRouter,
  clock: () => number,
): Promise<ServerFindings> {
  const { id, origin } = server;
  const check = `server ${id}`;
  try {
    const { status, headers, text } = await ask(server, { method: 'GET', target: '/readyz' });
    const ready: Finding =
      status === 200
        ? ok(check, `${origin} is ready`)
        : warning(check, `${origin}/readyz returned ${status}: ${adviceOn(status, text)}`);
    return { findings: [ready, ...skewOf(check, headers.date, clock())], reached: [server] };
  } catch (error) {
    const message = `${origin} cannot be reached: ${reasonOf(error)}`;
    return { findings: [failed(check, message)], reached: [] };
  }
}

function adviceOn(status: number, text: string): string {
  if (status === 401 || status === 403) return 'it is there, and lets only known callers ask';
  // k8s.io/apiserver pkg/server/healthz: a line for each check, `[-]` before those that fail.
  const failing = [...text.matchAll(/^\[-\](\S+) failed/gm)].map(([, name]) => name);
  return failing.length === 0 ? 'see its own log' : `${failing.join(', ')} failed, see its own log`;
}

function reasonOf(error: unknown): string {
  return connectionError(error, {
    authorities: '--peer-ca-file and --local-server-ca-file',
    serverName: '--local-server-name',
    responseTimeout,
  });
}

function skewOf(check: string, date: string | undefined, now: number): readonly Finding[] {
  const skew = date === undefined ? 0 : Date.parse(date) - now;
  if (!(Math.abs(skew) > tolerableSkew)) return [];
  const direction = skew > 0 ? 'ahead of' : 'behind';
  const message = `its clock is ${durationText(Math.abs(skew))} ${direction} this one: the age of snapshots and the expiry of tokens go by both, set them by NTP`;
  return [warning(check, message)];
}

/**
 * Whether the router can listen. `doctor` also runs beside the router, which is then what listens there: known by its
 * certificate, and by a check that no API server has, for on a node of kubeadm both present the same certificate.
 */
export async function portFinding(
  config: ServeConfig,
  { portInUse }: Pick<CommandContext, 'portInUse'>,
): Promise<Finding> {
  const { bindAddress, securePort, serving } = config;
  const address = joinHostPort(bindAddress, securePort);
  const busy = await portInUse(config);
  if (busy === undefined) return ok('port', `${address} is free`);
  const { pem } = serving.certificate;
  const host = ['0.0.0.0', '::', ''].includes(bindAddress) ? '127.0.0.1' : bindAddress;
  const isRouter = await askOverHttps({
    origin: `https://${joinHostPort(host, securePort)}`,
    path: '/readyz?verbose',
    serverName: nameIn(pem),
    // By whichever CA: the server has to present the router's own certificate.
    certificateAuthorities: pem,
    allowPartialTrustChain: true,
    clientCertificate: undefined,
    headers: [],
    responseTimeout: 2_000,
    longestResponse: 1024 * 1024,
  }).then(
    ({ text }) => /^\[[+-]\](?:snapshot|server-id)\b/m.test(text),
    () => false,
  );
  return isRouter
    ? ok('port', `a router with this certificate listens on ${address}`)
    : failed('port', busy.message);
}

/** A name that the certificate is for; `undefined`: the address that is asked has to stand in it. */
function nameIn(pem: string): string | undefined {
  const [, name] = /DNS:([^,\s]+)/.exec(new X509Certificate(pem).subjectAltName ?? '') ?? [];
  const asked = name?.replace(/^\*\./, 'router.');
  return asked === undefined || isIP(asked) !== 0 ? undefined : asked;
}
