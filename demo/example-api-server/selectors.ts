import { type ApiError, badRequest } from './api-error.ts';
import { type KubernetesObject, textAt } from './kubernetes-object.ts';
import type { StorageKey } from './store.ts';

export type Predicate = (object: KubernetesObject) => boolean;

const identifier = '[A-Za-z0-9][A-Za-z0-9_./-]*';
const setRequirement = new RegExp(`^(${identifier})\\s+(in|notin)\\s*\\(([^()]*)\\)$`);
const equalityRequirement = new RegExp(`^(${identifier})\\s*(==|=|!=)\\s*([A-Za-z0-9_.-]*)$`);
const existenceRequirement = new RegExp(`^(!?)\\s*(${identifier})$`);

/**
 * Reads a label selector: `a=b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a`, `!a`, joined by commas.
 * @throws {ApiError} BadRequest
 */
export function parseLabelSelector(text: string): Predicate {
  const requirements = splitOutsideParentheses(text).map(parseLabelRequirement);
  return ({ metadata }) => requirements.every((matches) => matches(metadata.labels ?? {}));
}

type LabelRequirement = (labels: Readonly<Record<string, string>>) => boolean;

function parseLabelRequirement(text: string): LabelRequirement {
  const [, setKey, operator, list] = setRequirement.exec(text) ?? [];
  if (setKey !== undefined && list !== undefined) {
    const values = list.split(',').map((value) => value.trim());
    return (labels) => {
      const value = labels[setKey];
      return operator === 'in'
        ? value !== undefined && values.includes(value)
        : !values.includes(value ?? '\0');
    };
  }
  const [, key, sign, wanted] = equalityRequirement.exec(text) ?? [];
  if (key !== undefined) return (labels) => (labels[key] === wanted) !== (sign === '!=');
  const [, negation, existing] = existenceRequirement.exec(text) ?? [];
  if (existing !== undefined) return (labels) => Object.hasOwn(labels, existing) !== (negation === '!');
  throw selectorError(text);
}

function selectorError(text: string): ApiError {
  return badRequest(`unable to parse requirement: ${JSON.stringify(text)} is no label selector`);
}

function splitOutsideParentheses(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Fields besides metadata.name and metadata.namespace that can be selected by, per resource. */
const selectableFields: Readonly<Record<string, readonly string[]>> = {
  '/events': [
    'involvedObject.kind',
    'involvedObject.name',
    'involvedObject.namespace',
    'involvedObject.uid',
    'reason',
    'type',
  ],
  '/namespaces': ['status.phase'],
  '/nodes': ['spec.unschedulable'],
  '/pods': ['spec.nodeName', 'spec.restartPolicy', 'spec.serviceAccountName', 'status.phase', 'status.podIP'],
  '/secrets': ['type'],
  'batch/jobs': ['status.successful'],
};

/**
 * Reads a field selector: terms of `=`, `==`, `!=`, joined by commas; `\` escapes.
 * @throws {ApiError} BadRequest, also for a field that the resource cannot be selected by.
 */
export function parseFieldSelector(text: string, { group, resource }: StorageKey): Predicate {
  const known = ['metadata.name', 'metadata.namespace', ...(selectableFields[`${group}/${resource}`] ?? [])];
  const requirements = text
    .split(/(?<!\\),/)
    .filter((term) => term !== '')
    .map((term) => {
      const [, field = '', operator, value = ''] = /^(.*?)(!=|==|=)(.*)$/.exec(term) ?? [];
      if (operator === undefined) {
        throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
      }
      if (!known.includes(field)) throw badRequest(`field label not supported: ${field}`);
      const wanted = value.replaceAll(/\\([\\,=])/g, '$1');
      const path = field.split('.');
      return (object: KubernetesObject) => (textAt(object, ...path) === wanted) !== (operator === '!=');
    });
  return (object) => requirements.every((matches) => matches(object));
}

/** Both selectors of a request. */
export function selectorOf(query: URLSearchParams, key: StorageKey): Predicate {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '', key);
  return (object) => labels(object) && fields(object);
}
