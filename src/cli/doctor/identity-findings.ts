import * as v from 'valibot';
import { parseCertificates, subjectOf } from '../../node/callers/pem-files.ts';
import type { CertificatePair, ServeConfig } from '../../node/configuration/serve-config.ts';
import type { HttpsResponse } from '../../node/destinations/https-client.ts';
import { errorMessage } from '../../runtime/errors.ts';
import {
  type AskAsRouter,
  doctorUser,
  type ExaminedServer,
  type Finding,
  failed,
  ok,
  type Question,
  warning,
} from './finding.ts';

/** Asks each server who calls when this router forwards a request of `doctorUser`. */
export async function identityFindings(
  servers: readonly ExaminedServer[],
  { proxyClient }: Pick<ServeConfig, 'proxyClient'>,
  ask: AskAsRouter,
): Promise<readonly Finding[]> {
  // Without a pair it says nothing of anybody.
  if (proxyClient === undefined) return [];
  return Promise.all(
    servers.map(async (server): Promise<Finding> => {
      const check = `identity at ${server.id}`;
      try {
        return judge(check, await ask(server, review), server, proxyClient);
      } catch (error) {
        return failed(check, `${server.origin} cannot be asked: ${errorMessage(error)}`);
      }
    }),
  );
}

function judge(
  check: string,
  { status, text }: HttpsResponse,
  { origin }: ExaminedServer,
  proxyClient: CertificatePair,
): Finding {
  const advice = frontProxyAdvice(proxyClient);
  if (status === 401) {
    return failed(check, `${origin} refuses what this router says of callers (401): ${advice}`);
  }
  const seen = v.safeParse(reviewed, text);
  if (status !== 201 || !seen.success) {
    const message = `${origin} returned ${status} and does not say for whom it takes the caller: whether it believes this router cannot be seen`;
    return warning(check, message);
  }
  const { username, groups, extra } = seen.output.status.userInfo;
  if (username !== doctorUser.name) {
    const message = `${origin} takes every request of this router for one of "${username}" and overlooks whom it speaks for: ${advice}`;
    return failed(check, message);
  }
  if (!doctorUser.groups.every((group) => groups.includes(group))) {
    const message = `${origin} believes who calls, and does not read the groups: set --requestheader-group-headers=X-Remote-Group there`;
    return failed(check, message);
  }
  if (![...doctorUser.extra.keys()].every((key) => key in extra)) {
    const message = `${origin} believes who calls, and does not read extra values: set --requestheader-extra-headers-prefix=X-Remote-Extra- there`;
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

const review: Question = {
  method: 'POST',
  target: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
  body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
};

/** Its response is the caller. Served from 1.28 on, to every authenticated user (ClusterRole `system:basic-user`). */
const reviewed = v.pipe(
  v.string(),
  v.parseJson(),
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
