import type { Answer } from './answer.ts';
import { badRequest } from './api-error.ts';
import { type KubernetesObject, objectAt } from './kubernetes-object.ts';
import type { ResourceRequest } from './resource-request.ts';
import type { ServedResource } from './served-resources.ts';

/** An object without the fields that its kind does not have, and what is to be said about those. */
export interface KnownFields {
  readonly object: KubernetesObject;
  readonly warnings: readonly string[];
}

const fieldsOfEveryKind = new Set(['apiVersion', 'kind', 'metadata', 'spec', 'status']);

/**
 * Fields that `fieldValidation` asks for, of the top level and of the fields of `spec` that later versions have.
 * Everything else below is taken as it comes. Kinds with a status subresource are the ones whose top level is known
 * here.
 * @throws {ApiError} BadRequest for an unknown field with `Strict`
 */
export function knownFields({ served, query }: ResourceRequest, object: KubernetesObject): KnownFields {
  const isTopLevelKnown = served.subresources.some(({ name }) => name === 'status');
  const unknown = isTopLevelKnown ? Object.keys(object).filter((name) => !fieldsOfEveryKind.has(name)) : [];
  const inSpec = unknownInSpec(served, object);
  if (unknown.length + inSpec.length === 0) return { object, warnings: [] };
  const warnings = [...unknown, ...inSpec.map((name) => `spec.${name}`)].map(
    (name) => `unknown field "${name}"`,
  );
  const level = query.get('fieldValidation') ?? 'Warn';
  if (level === 'Strict') {
    const { kind, version } = served;
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${warnings.join(', ')}`,
    );
  }
  const known = Object.fromEntries(Object.entries(object).filter(([name]) => !unknown.includes(name)));
  return {
    object: withoutUnknownFields(served, { ...known, metadata: object.metadata }),
    warnings: level === 'Ignore' ? [] : warnings,
  };
}

/** An object without the fields of `spec` that the server does not know. */
export function withoutUnknownFields(served: ServedResource, object: KubernetesObject): KubernetesObject {
  const unknown = unknownInSpec(served, object);
  if (unknown.length === 0) return object;
  const known = Object.entries(objectAt(object, 'spec')).filter(([name]) => !unknown.includes(name));
  return { ...object, spec: Object.fromEntries(known) };
}

function unknownInSpec({ unknownFields }: ServedResource, object: KubernetesObject): string[] {
  // Most kinds of most servers have none, and objects are shown by the thousand.
  if (unknownFields.length === 0) return [];
  return Object.keys(objectAt(object, 'spec')).filter((name) => unknownFields.includes(name));
}

/** The answer with its warnings, which kubectl prints (RFC 7234 section 5.5: code 299, no agent). */
export function withWarnings(answer: Answer, warnings: readonly string[]): Answer {
  if (warnings.length === 0) return answer;
  const warning = warnings.map((text) => `299 - ${JSON.stringify(text)}`).join(', ');
  return { ...answer, headers: { ...answer.headers, warning } };
}
