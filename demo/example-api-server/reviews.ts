import { type Answer, objectAnswer } from './answer.ts';
import { type ExampleUser, isAnonymous } from './authentication.ts';
import { type JsonObject, textAt } from './kubernetes-object.ts';
import { negotiate } from './negotiation.ts';
import { decodeObject } from './request-body.ts';
import type { ResourceRequest } from './resource-request.ts';

type Review = (request: ResourceRequest, given: JsonObject) => JsonObject;

const reviews: Readonly<Record<string, Review>> = {
  selfsubjectreviews: ({ user }) => ({ userInfo: userInfo(user) }),
  selfsubjectaccessreviews: ({ user }) => ({ allowed: !isAnonymous(user) }),
  subjectaccessreviews: (_request, given) => ({
    allowed: textAt(given, 'spec', 'user') !== 'system:anonymous',
  }),
  localsubjectaccessreviews: (_request, given) => ({
    allowed: textAt(given, 'spec', 'user') !== 'system:anonymous',
  }),
  selfsubjectrulesreviews: () => ({
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
    incomplete: false,
  }),
  tokenreviews: ({ server }, given) => {
    const user = server.userOfToken(textAt(given, 'spec', 'token'));
    return user === undefined ? { authenticated: false } : { authenticated: true, user: userInfo(user) };
  },
};

/** Answers a resource that is only ever created and never stored; `undefined` for every other resource. */
export function review(request: ResourceRequest): Answer | undefined {
  const answer = reviews[request.served.resource];
  if (answer === undefined) return undefined;
  const given = decodeObject(request.body, request.contentType);
  const { served, server } = request;
  const object = {
    ...given,
    kind: served.kind,
    apiVersion: served.groupVersion,
    metadata: { ...given.metadata, creationTimestamp: server.store.timestamp() },
    status: answer(request, given),
  };
  return objectAnswer(object, negotiate(request.accept).encoding, 201);
}

/** authentication.k8s.io UserInfo; what is empty is left out. */
function userInfo({ name, uid, groups, extra }: ExampleUser): JsonObject {
  return {
    username: name,
    ...(uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(Object.keys(extra).length === 0 ? {} : { extra }),
  };
}
