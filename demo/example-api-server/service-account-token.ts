import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { type Answer, objectAnswer } from './answer.ts';
import { invalid } from './api-error.ts';
import type { ExampleUser } from './authentication.ts';
import { arrayAt, type JsonObject, numberAt, objectAt, textAt } from './kubernetes-object.ts';
import { negotiate } from './negotiation.ts';
import { decodeObject } from './request-body.ts';
import type { ResourceRequest } from './resource-request.ts';
import type { ExampleStore } from './store.ts';
import { existing } from './writes.ts';

/** Issuer of the tokens, and their audience unless another is asked for; kubeadm's default. */
const issuer = 'https://kubernetes.default.svc.cluster.local';
const minimumSeconds = 600;

/**
 * Answers a TokenRequest (`kubectl create token`) with a token that every server of the cluster takes.
 * @throws {ApiError} BadRequest, Invalid, NotFound
 */
export function requestToken(request: ResourceRequest): Answer {
  const { store } = request.server;
  const { name = '', namespace = '', uid = '' } = existing(request).metadata;
  const given = decodeObject(request.body, request.contentType);
  const expirationSeconds = numberAt(given, 'spec', 'expirationSeconds') ?? 3600;
  if (expirationSeconds < minimumSeconds) {
    const message = `Invalid value: ${expirationSeconds}: may not specify a duration less than 10 minutes`;
    throw invalid('authentication.k8s.io', 'TokenRequest', '', [
      { reason: 'FieldValueInvalid', field: 'spec.expirationSeconds', message },
    ]);
  }
  const asked = arrayAt(given, 'spec', 'audiences');
  const audiences = asked.length > 0 ? asked : [issuer];
  const creationTimestamp = store.timestamp();
  const now = Date.parse(creationTimestamp) / 1000;
  const expiration = now + expirationSeconds;
  const token = signed(store, {
    aud: audiences,
    exp: expiration,
    iat: now,
    iss: issuer,
    jti: randomUUID(),
    'kubernetes.io': { namespace, serviceaccount: { name, uid } },
    nbf: now,
    sub: `system:serviceaccount:${namespace}:${name}`,
  });
  const expirationTimestamp = new Date(expiration * 1000).toISOString().replace('.000Z', 'Z');
  const answer = {
    kind: 'TokenRequest',
    apiVersion: 'authentication.k8s.io/v1',
    metadata: { name, namespace, uid, creationTimestamp },
    spec: { audiences, expirationSeconds, boundObjectRef: null },
    status: { token, expirationTimestamp },
  };
  return objectAnswer(answer, negotiate(request.accept).encoding, 201);
}

/** The service account of a token, as long as there is one and the token is valid for these servers. */
export function serviceAccountOf(store: ExampleStore, token: string): ExampleUser | undefined {
  const claims = verifiedClaims(store, token);
  const now = Date.parse(store.timestamp()) / 1000;
  if ((numberAt(claims, 'exp') ?? 0) <= now || !arrayAt(claims, 'aud').includes(issuer)) return undefined;
  const namespace = textAt(claims, 'kubernetes.io', 'namespace');
  const { name, uid } = objectAt(claims, 'kubernetes.io', 'serviceaccount');
  const account = store.get({ group: '', resource: 'serviceaccounts' }, namespace, String(name));
  if (account === undefined || account.metadata.uid !== uid) return undefined;
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  return { name: textAt(claims, 'sub'), uid: account.metadata.uid ?? '', groups, extra: {} };
}

function signed(store: ExampleStore, claims: JsonObject): string {
  const content = [{ alg: 'HS256' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${content}.${signatureOf(store, content).toString('base64url')}`;
}

function verifiedClaims(store: ExampleStore, token: string): JsonObject {
  const end = token.lastIndexOf('.');
  const content = token.slice(0, Math.max(end, 0));
  const expected = signatureOf(store, content);
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) return {};
  return JSON.parse(Buffer.from(content.split('.')[1] ?? '', 'base64url').toString('utf8'));
}

/**
 * The key is in what all servers of a cluster share, copies of its store included: the UID of a namespace that always
 * is there. Whoever may read that may issue tokens as well (authorization.ts).
 */
function signatureOf(store: ExampleStore, content: string): Buffer {
  const key = store.get({ group: '', resource: 'namespaces' }, '', 'kube-system')?.metadata.uid;
  return createHmac('sha256', key ?? randomUUID())
    .update(content)
    .digest();
}
