import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import * as v from 'valibot';
import { parseCertificates, subjectOf } from '../../node/callers/pem-files.ts';
import type { CertificatePair, ServeConfig } from '../../node/configuration/serve-config.ts';
import { askOverHttps, type HttpsResponse } from '../../node/destinations/https-client.ts';
import { durationText } from '../../runtime/duration-text.ts';
import { fromJson } from '../../runtime/validation.ts';
import { joinHostPort } from '../../snapshot/addresses/addresses.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { CommandContext } from '../terminal/command-context.ts';
import { connectionError } from '../terminal/connection-error.ts';
import {
  askAsRouter,
  doctorUser,
  type ExaminedServer,
  examinedServers,
  type Finding,
  failed,
  ok,
  responseTimeout,
  warning,
} from './finding.ts';

/** Less than this is no skew. */
const tolerableSkew = 1_000;

/**
 * Asks every server that the router may send to, over TLS as the router checks it: for /readyz, which tells of address,
 * certificate, name, readiness and clock, and for whom it takes a caller whom the router names.
 */
export async function serverFindings(
  config: ServeConfig,
  table: RoutingTable | undefined,
  clock: () => number,
): Promise<readonly Finding[]> {
  const { proxyClient } = config;
  const ask = askAsRouter(config);
  const examine = async (server: ExaminedServer): Promise<readonly Finding[]> => {
    const { id, origin } = server;
    const check = `server ${id}`;
    try {
      const askedAt = clock();
      const { status, headers, text } = await ask(server, '/readyz');
      const ready =
        status === 200
          ? ok(check, `${origin} is ready`)
          : warning(check, `${origin}/readyz returned ${status}: ${adviceOn(status, text)}`);
      const known = [ready, ...skewOf(check, headers.date, askedAt, clock())];
      // Without a pair the router says nothing of anybody.
      if (proxyClient === undefined) return known;
      const identity = await ask(server, reviews, review).then(
        (response) => identityFinding(server, response, proxyClient),
        (error: unknown) => failed(`identity at ${id}`, `${origin} cannot be asked: ${reasonOf(error)}`),
      );
      return [...known, identity];
    } catch (error) {
      return [failed(check, `${origin} cannot be reached: ${reasonOf(error)}`)];
    }
  };
  const findings = await Promise.all(examinedServers(config, table).map(examine));
  return [...findings.flat(), ...addressFindings(config, table)];
}

function addressFindings({ serverId }: ServeConfig, table: RoutingTable | undefined): readonly Finding[] {
  const without = (table?.servers ?? []).filter(({ id, origin }) => origin === undefined && id !== serverId);
  return without.map(({ id, departed }) =>
    warning(
      `server ${id}`,
      departed
        ? 'the server has left and may come back. Until then requests for resources that only this server has get 503'
        : 'the snapshot has no address of this server: give the sync job a --server for it, or its router an --advertise-address',
    ),
  );
}

function adviceOn(status: number, text: string): string {
  if (status === 401 || status === 403) return 'it is there, and lets only known callers ask';
  // k8s.io/apiserver pkg/server/healthz: a line for each check, `[-]` before those that fail.
  const failing = [...text.matchAll(/^\[-\](\S+) failed/gm)].map(([, name]) => name);
  return failing.length === 0 ? 'see its own log' : `${failing.join(', ')} failed, see its own log`;
}

function reasonOf(error: unknown): string {
  return connectionError(error, {
    peer: 'API server',
    authorities: '--peer-ca-file and --local-server-ca-file',
    serverName: '--local-server-name',
    responseTimeout,
  });
}

/** The least that it can be: a Date header counts whole seconds, and was written between question and answer. */
function skewOf(
  check: string,
  date: string | undefined,
  askedAt: number,
  answeredAt: number,
): readonly Finding[] {
  const written = date === undefined ? askedAt : Date.parse(date);
  const skew = Math.max(0, written - answeredAt) + Math.min(0, written + 1_000 - askedAt);
  if (!(Math.abs(skew) > tolerableSkew)) return [];
  const direction = skew > 0 ? 'ahead of' : 'behind';
  const message = `its clock is ${durationText(Math.abs(skew))} ${direction} this machine's. Set both by NTP: ages of snapshots and expiry of tokens depend on them`;
  return [warning(check, message)];
}

const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const review = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' });

/** Its response is the caller. Served from 1.28 on, to every authenticated user (ClusterRole `system:basic-user`). */
const reviewed = fromJson(
  v.object({
    status: v.object({
      userInfo: v.object({
        username: v.string(),
        groups: v.optional(v.array(v.string()), []),
        extra: v.optional(v.record(v.string(), v.array(v.string())), {}),
      }),
    }),
  }),
);

/** For whom a server took the caller when this router forwarded a request of `doctorUser`. */
function identityFinding(
  { id, origin }: ExaminedServer,
  { status, text }: HttpsResponse,
  proxyClient: CertificatePair,
): Finding {
  const check = `identity at ${id}`;
  const advice = frontProxyAdvice(proxyClient);
  if (status === 401) {
    return failed(check, `${origin} refuses the X-Remote headers of this router (401): ${advice}`);
  }
  const seen = v.safeParse(reviewed, text);
  if (status !== 201 || !seen.success) {
    const message = `${origin} returned ${status}, not the caller's name: doctor cannot tell whether this server believes the router`;
    return warning(check, message);
  }
  const { username, groups, extra } = seen.output.status.userInfo;
  if (username !== doctorUser.name) {
    const message = `${origin} takes every request of this router as one of user "${username}", and ignores the X-Remote headers: ${advice}`;
    return failed(check, message);
  }
  if (!doctorUser.groups.every((group) => groups.includes(group))) {
    const message = `${origin} reads the caller's name, and not the groups: set --requestheader-group-headers=X-Remote-Group there`;
    return failed(check, message);
  }
  if (![...doctorUser.extra.keys()].every((key) => key in extra)) {
    const message = `${origin} reads the caller's name and groups, and no extra values: set --requestheader-extra-headers-prefix=X-Remote-Extra- there`;
    return warning(check, message);
  }
  return ok(check, `${origin} believes this router about who calls`);
}

function frontProxyAdvice({ certificate }: CertificatePair): string {
  const { path, pem } = certificate;
  const [own] = parseCertificates({ pem, source: path });
  if (own === undefined) return `${path} holds no certificate`;
  const authority = own.issuer.replaceAll('\n', ', ');
  return `there, --requestheader-client-ca-file must hold the CA that has signed ${path} (${authority}), --requestheader-allowed-names its name (${subjectOf(own)}), and --requestheader-username-headers X-Remote-User`;
}

/**
 * Finding on whether the router can listen. `doctor` also runs beside the router, which then listens there itself. That
 * router is known by its certificate, and by a check that no API server has, for on a node of kubeadm both present the
 * same certificate.
 */
export async function portFinding(
  config: ServeConfig,
  { portInUse }: Pick<CommandContext, 'portInUse'>,
): Promise<Finding> {
  const { bindAddress, port } = config.settings.serving;
  const address = joinHostPort(bindAddress, port);
  const busy = await portInUse(config.settings.serving);
  if (busy === undefined) return ok('port', `${address} is free`);
  const { pem } = config.serving.certificate;
  const host = ['0.0.0.0', '::', ''].includes(bindAddress) ? '127.0.0.1' : bindAddress;
  const isRouter = await askOverHttps({
    origin: `https://${joinHostPort(host, port)}`,
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
    ({ text }) => /^\[[+-]\]snapshot\b/m.test(text),
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
