import * as v from 'valibot';
import type { SyncPermission } from '../../sync/sync-permissions.ts';
import type { HttpsAnswer } from '../terminal/ask-over-https.ts';
import type { Question } from './finding.ts';

/** Why a server does not say whether something is allowed. */
export class AccessReviewError extends Error {
  override readonly name = 'AccessReviewError';
  readonly status: number;
  constructor(status: number) {
    super(`it returned ${status} for a SelfSubjectAccessReview`);
    this.status = status;
  }
}

const reviewSchema = v.object({ status: v.object({ allowed: v.boolean() }) });

/**
 * Asks a server what of a permission the caller lacks, by a SelfSubjectAccessReview for each verb (authorization.k8s.io
 * /v1). Rules (SelfSubjectRulesReview) would take one question, and are incomplete where an authorizer cannot list them.
 * @returns the permission with what is missing of it; `undefined` when nothing is
 * @throws {AccessReviewError} when it does not say whether access is allowed
 */
export async function missingOf(
  permission: SyncPermission,
  ask: (question: Question) => Promise<HttpsAnswer>,
): Promise<SyncPermission | undefined> {
  const isMissing = async (attributes: object): Promise<boolean> => !(await isAllowed(attributes, ask));
  if (permission.kind === 'path') {
    // A rule for /apis/* covers the path of that very name, and no rule for single paths does.
    const paths = await filterAsync(permission.paths, (path) =>
      isMissing({ nonResourceAttributes: { path, verb: 'get' } }),
    );
    return paths.length === 0 ? undefined : { ...permission, paths };
  }
  const { group, resource, namespace, name } = permission;
  const verbs = await filterAsync(permission.verbs, (verb) =>
    isMissing({ resourceAttributes: { group, version: '*', resource, verb, namespace, name } }),
  );
  return verbs.length === 0 ? undefined : { ...permission, verbs };
}

async function isAllowed(
  attributes: object,
  ask: (question: Question) => Promise<HttpsAnswer>,
): Promise<boolean> {
  const { status, text } = await ask({
    method: 'POST',
    target: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    body: JSON.stringify({
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: attributes,
    }),
  });
  const review = status === 201 ? v.safeParse(reviewSchema, parsed(text)) : undefined;
  if (review?.success !== true) throw new AccessReviewError(status);
  return review.output.status.allowed;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** One after the other: a server that is to be checked is not to be loaded. */
async function filterAsync<Value>(
  values: readonly Value[],
  isWanted: (value: Value) => Promise<boolean>,
): Promise<readonly Value[]> {
  const wanted: Value[] = [];
  for (const value of values) if (await isWanted(value)) wanted.push(value);
  return wanted;
}
