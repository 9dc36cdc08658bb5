import type { Answer } from './answer.ts';
import { badRequest } from './api-error.ts';
import type { KubernetesObject } from './kubernetes-object.ts';
import type { ResourceRequest } from './resource-request.ts';

/** An object without the fields that its kind does not have, and what is to be said about those. */
export interface KnownFields {
  readonly object: KubernetesObject;
  readonly warnings: readonly string[];
}

const fieldsOfEveryKind = new Set(['apiVersion', 'kind', 'metadata', 'spec', 'status']);

/**
 * What `fieldValidation` asks for, of the top level only: what is below is taken as it comes. Kinds with a status
 * subresource are the ones whose top level is known here.
 * @throws {ApiError} BadRequest for an unknown field with `Strict`
 */
export function knownFields({ served, query }: ResourceRequest, object: KubernetesObject): KnownFields {
  if (!served.subresources.some(({ name }) => name === 'status')) return { object, warnings: [] };
  const unknown = Object.keys(object).filter((name) => !fieldsOfEveryKind.has(name));
  if (unknown.length === 0) return { object, warnings: [] };
  const warnings = unknown.map((name) => `unknown field "${name}"`);
  const level = query.get('fieldValidation') ?? 'Warn';
  if (level === 'Strict') {
    const { kind, version } = served;
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${warnings.join(', ')}`,
    );
  }
  const known = Object.fromEntries(Object.entries(object).filter(([name]) => fieldsOfEveryKind.has(name)));
  return { object: { ...known, metadata: object.metadata }, warnings: level === 'Ignore' ? [] : warnings };
}

/** The answer with its warnings, which kubectl prints (RFC 7234 section 5.5: code 299, no agent). */
export function withWarnings(answer: Answer, warnings: readonly string[]): Answer {
  if (warnings.length === 0) return answer;
  const warning = warnings.map((text) => `299 - ${JSON.stringify(text)}`).join(', ');
  return { ...answer, headers: { ...answer.headers, warning } };
}
