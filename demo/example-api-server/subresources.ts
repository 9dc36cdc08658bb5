import { type Answer, objectAnswer, textAnswer } from './answer.ts';
import { badRequest } from './api-error.ts';
import { withEphemeralContainersRunning } from './defaults.ts';
import {
  type JsonObject,
  type JsonValue,
  type KubernetesObject,
  numberAt,
  objectAt,
  valueAt,
} from './kubernetes-object.ts';
import { negotiate } from './negotiation.ts';
import { patched } from './patch/patch-request.ts';
import { podLog } from './pod-log.ts';
import { asObject, decodeObject } from './request-body.ts';
import type { ResourceRequest } from './resource-request.ts';
import { inVersion, prepareForPartialUpdate } from './strategy.ts';
import { answered, existing, replace } from './writes.ts';

/** A part of an object under a path of its own. The verb is one the table allows. */
export function subresource(request: ResourceRequest): Answer {
  switch (request.target.subresource) {
    case 'scale':
      return scale(request);
    case 'log':
      return podLog(request, existing(request));
    case 'binding':
      return bind(request);
    case 'eviction':
      return evict(request);
    case 'proxy':
      return proxy(request);
    case 'exec':
    case 'attach':
    case 'portforward':
      throw badRequest('Upgrade request required');
    case 'token':
      throw badRequest('example API servers issue no tokens');
    case 'status':
    case 'approval':
      return part(request, 'status');
    default:
      // ephemeralcontainers, resize and finalize write to the spec.
      return part(request, 'spec');
  }
}

function part(request: ResourceRequest, name: 'status' | 'spec'): Answer {
  const current = existing(request);
  if (request.target.verb === 'get') return answered(request, current);
  const given =
    request.target.verb === 'patch'
      ? patched(request, current)
      : decodeObject(request.body, request.contentType);
  const next = prepareForPartialUpdate(request, current, given, name);
  const isEphemeral = request.target.subresource === 'ephemeralcontainers';
  const now = request.server.store.timestamp();
  return answered(request, replace(request, isEphemeral ? withEphemeralContainersRunning(next, now) : next));
}

function scale(request: ResourceRequest): Answer {
  const current = existing(request);
  const { encoding } = negotiate(request.accept);
  if (request.target.verb === 'get') return objectAnswer(scaleOf(current), encoding);
  const given =
    request.target.verb === 'patch'
      ? patchedScale(request, current)
      : decodeObject(request.body, request.contentType);
  const replicas = valueAt(given, 'spec', 'replicas') ?? 0;
  if (typeof replicas !== 'number' || !Number.isSafeInteger(replicas) || replicas < 0) {
    throw badRequest('spec.replicas of a Scale is a count');
  }
  const spec: Readonly<Record<string, JsonValue | undefined>> = { ...objectAt(current, 'spec'), replicas };
  const next = prepareForPartialUpdate(
    request,
    current,
    { ...inVersion(request.served, current), spec },
    'spec',
  );
  return objectAnswer(scaleOf(replace(request, next)), encoding);
}

/** Patches go against the Scale, not against the object behind it. */
function patchedScale(request: ResourceRequest, current: KubernetesObject): KubernetesObject {
  const served = { ...request.served, group: 'autoscaling', version: 'v1', groupVersion: 'autoscaling/v1' };
  return asObject(patched({ ...request, served: { ...served, kind: 'Scale' } }, asObject(scaleOf(current))));
}

function scaleOf(object: KubernetesObject): JsonObject {
  const { name = '', namespace = '', uid = '', resourceVersion = '', creationTimestamp } = object.metadata;
  const labels = Object.entries(objectAt(object, 'spec', 'selector', 'matchLabels'));
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: numberAt(object, 'spec', 'replicas') ?? 0 },
    status: {
      replicas: numberAt(object, 'status', 'replicas') ?? 0,
      selector: labels.map(([key, value]) => `${key}=${value}`).join(','),
    },
  };
}

/** Puts a pod on a node. */
function bind(request: ResourceRequest): Answer {
  const current = existing(request);
  const target = decodeObject(request.body, request.contentType)['target'];
  const nodeName = valueAt(target, 'name');
  if (typeof nodeName !== 'string') throw badRequest('target.name of a Binding is the name of a node');
  replace(request, { ...current, spec: { ...objectAt(current, 'spec'), nodeName } });
  return success(request);
}

/** No disruption budget is looked at: the pod goes. */
function evict(request: ResourceRequest): Answer {
  const { metadata } = existing(request);
  const { server, served } = request;
  server.store.remove(served.storage, metadata.namespace ?? '', metadata.name ?? '');
  return success(request);
}

/** There is nothing to pass on to, so the answer says what would have been passed on, and for whom. */
function proxy({ target, user }: ResourceRequest): Answer {
  return textAnswer(200, `${target.verb} /${target.rest.join('/')} for ${user.name}\n`);
}

function success(request: ResourceRequest): Answer {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };
  return objectAnswer(status, negotiate(request.accept).encoding, 201);
}
