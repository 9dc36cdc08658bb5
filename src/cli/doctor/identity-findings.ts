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
        const seen = await askWhoCalls((question) => ask(server, question));
        return judge(check, seen, server, proxyClient);
      } catch (error) {
        return failed(check, `${server.origin} cannot be asked: ${errorMessage(error)}`);
      }
    }),
  );
}

function judge(
  check: string,
  seen: SeenCaller,
  { origin }: ExaminedServer,
  proxyClient: CertificatePair,
): Finding {
  const advice = frontProxyAdvice(proxyClient);
  if (seen.kind === 'refused') {
    return failed(check, `${origin} refuses what this router says of callers (401): ${advice}`);
  }
  if (seen.kind === 'unknown') {
    const message = `${origin} returned ${seen.status} and does not say for whom it takes the caller: whether it believes this router cannot be seen`;
    return warning(check, message);
  }
  if (seen.name !== doctorUser.name) {
    const message = `${origin} takes every request of this router for one of "${seen.name}" and overlooks whom it speaks for: ${advice}`;
    return failed(check, message);
  }
  const { groups, extra } = seen;
  if (doctorUser.groups.some((expected) => groups?.includes(expected) === false)) {
    const message = `${origin} believes who calls, and does not read the groups: set --requestheader-group-headers=X-Remote-Group there`;
    return failed(check, message);
  }
  const lacksExtra = [...doctorUser.extra.keys()].some(
    (key) => extra !== undefined && extra[key] === undefined,
  );
  if (lacksExtra) {
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

export type SeenCaller =
  | {
      readonly kind: 'user';
      readonly name: string;
      /** `undefined` where the server tells the name alone. */
      readonly groups: readonly string[] | undefined;
      readonly extra: Readonly<Record<string, readonly string[]>> | undefined;
    }
  /** 401. */
  | { readonly kind: 'refused' }
  /** A response that names no caller. */
  | { readonly kind: 'unknown'; readonly status: number };

const review: Question = {
  method: 'POST',
  target: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
  body: JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }),
};

/** Does not exist, and nobody may read it: the 403 names the user that it was refused to. */
const forbiddenPath: Question = { method: 'GET', target: '/mixed-version-proxy-doctor' };

/**
 * Finds out whom a server takes the caller for, without a right and without a change: by a SelfSubjectReview (1.28
 * and later), whose response is the caller and whose refusal names it, and where that is not served, by the refusal of
 * a path that does not exist.
 * @param ask throws when there is no response; so does this
 */
export async function askWhoCalls(ask: (question: Question) => Promise<HttpsResponse>): Promise<SeenCaller> {
  const seen = seenIn(await ask(review));
  return seen.kind === 'unknown' ? seenIn(await ask(forbiddenPath)) : seen;
}

const json = v.pipe(v.string(), v.parseJson());

const reviewSchema = v.pipe(
  json,
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

const forbiddenSchema = v.pipe(json, v.object({ reason: v.literal('Forbidden'), message: v.string() }));

function seenIn({ status, text }: HttpsResponse): SeenCaller {
  if (status === 401) return { kind: 'refused' };
  const review = v.safeParse(reviewSchema, text);
  if (status === 201 && review.success) {
    const { username: name, groups, extra } = review.output.status.userInfo;
    return { kind: 'user', name, groups, extra };
  }
  const refusal = v.safeParse(forbiddenSchema, text);
  const name = refusal.success ? nameIn(refusal.output.message) : undefined;
  return status === 403 && name !== undefined
    ? { kind: 'user', name, groups: undefined, extra: undefined }
    : { kind: 'unknown', status };
}

/** k8s.io/apiserver pkg/endpoints/handlers/responsewriters/errors.go: the name stands in it as Go quotes text. */
function nameIn(message: string): string | undefined {
  const [, quoted] = /\bUser ("(?:[^"\\]|\\.)*") cannot /.exec(message) ?? [];
  const name = v.safeParse(v.pipe(json, v.string()), quoted);
  return name.success ? name.output : undefined;
}
