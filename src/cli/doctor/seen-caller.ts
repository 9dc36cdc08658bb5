import * as v from 'valibot';
import type { HttpsAnswer } from '../terminal/ask-over-https.ts';
import type { Question } from './finding.ts';

/** Whom a server takes the caller for. */
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

/** Nothing is there, and no one may read it: the refusal names whom it is for. */
const forbiddenPath: Question = { method: 'GET', target: '/mixed-version-proxy-doctor' };

/**
 * Finds out whom a server takes the caller for, without a right and without a change: by a SelfSubjectReview (1.28
 * and later), whose response is the caller and whose refusal names it, and where that is not served, by the refusal of
 * a path that does not exist.
 * @param ask throws when there is no response; so does this
 */
export async function askWhoCalls(ask: (question: Question) => Promise<HttpsAnswer>): Promise<SeenCaller> {
  const seen = seenIn(await ask(review));
  return seen.kind === 'unknown' ? seenIn(await ask(forbiddenPath)) : seen;
}

const reviewSchema = v.object({
  status: v.object({
    userInfo: v.object({
      username: v.string(),
      groups: v.optional(v.array(v.string()), []),
      extra: v.optional(v.record(v.string(), v.array(v.string())), {}),
    }),
  }),
});

const forbiddenSchema = v.object({ reason: v.literal('Forbidden'), message: v.string() });

function seenIn({ status, text }: HttpsAnswer): SeenCaller {
  if (status === 401) return { kind: 'refused' };
  const object = parsed(text);
  const review = v.safeParse(reviewSchema, object);
  if (status === 201 && review.success) {
    const { username: name, groups, extra } = review.output.status.userInfo;
    return { kind: 'user', name, groups, extra };
  }
  const refusal = v.safeParse(forbiddenSchema, object);
  const name = refusal.success ? nameIn(refusal.output.message) : undefined;
  return status === 403 && name !== undefined
    ? { kind: 'user', name, groups: undefined, extra: undefined }
    : { kind: 'unknown', status };
}

/** k8s.io/apiserver pkg/endpoints/handlers/responsewriters/errors.go: the name stands in it as Go quotes text. */
function nameIn(message: string): string | undefined {
  const [, quoted] = /\bUser ("(?:[^"\\]|\\.)*") cannot /.exec(message) ?? [];
  const name = quoted === undefined ? undefined : parsed(quoted);
  return typeof name === 'string' ? name : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
