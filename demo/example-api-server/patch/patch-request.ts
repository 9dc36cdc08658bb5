import {
  type ApiError,
  badRequest,
  type Cause,
  invalid,
  notFound,
  unsupportedMediaType,
} from '../api-error.ts';
import type { JsonValue, KubernetesObject } from '../kubernetes-object.ts';
import { asObject, decodeJson, decodeYaml, mediaTypeOf } from '../request-body.ts';
import type { ResourceRequest } from '../resource-request.ts';
import { inVersion } from '../strategy.ts';
import { applyJsonPatch } from './json-patch.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';

const applyType = 'application/apply-patch+yaml';

type Patch = (document: JsonValue, patch: JsonValue) => JsonValue;

const patches: Readonly<Record<string, Patch>> = {
  'application/json-patch+json': applyJsonPatch,
  'application/merge-patch+json': applyMergePatch,
  'application/strategic-merge-patch+json': applyStrategicMergePatch,
};

/**
 * The object that the patch in the request makes of `current`. Only an apply patch may find nothing there: it creates.
 * @throws {ApiError} UnsupportedMediaType, BadRequest, Invalid, NotFound
 */
export function patched(request: ResourceRequest, current: KubernetesObject | undefined): KubernetesObject {
  const { served, target, body } = request;
  const type = mediaTypeOf(request.contentType);
  if (type === applyType) return applied(request, current);
  if (request.query.has('force')) {
    throw invalidOption(
      'force',
      'FieldValueForbidden',
      'Forbidden: may not be specified for non-apply patch',
    );
  }
  const patch = patches[type];
  if (patch === undefined) throw unsupportedMediaType(type, [...Object.keys(patches), applyType]);
  if (current === undefined) throw notFound(served, target.name);
  return asObject(patch(inVersion(served, current), decodeJson(body)));
}

/** Server-side apply without owners of fields: what a manager leaves out now stays, and nobody conflicts. */
function applied(request: ResourceRequest, current: KubernetesObject | undefined): KubernetesObject {
  const { served, target, query } = request;
  const fieldManager = query.get('fieldManager') ?? '';
  if (fieldManager === '') {
    throw invalidOption('fieldManager', 'FieldValueRequired', 'Required value: is required for apply patch');
  }
  const configuration = asObject(decodeYaml(request.body));
  if (configuration.apiVersion === undefined || configuration.kind === undefined) {
    throw badRequest('an apply patch names its apiVersion and kind');
  }
  const { name = '' } = configuration.metadata;
  if (name !== target.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${target.name})`);
  }
  const live = current === undefined ? { metadata: {} } : inVersion(served, current);
  return asObject(applyStrategicMergePatch(live, configuration));
}

function invalidOption(field: string, reason: Cause['reason'], message: string): ApiError {
  return invalid('meta.k8s.io', 'PatchOptions', '', [{ reason, field, message }]);
}
