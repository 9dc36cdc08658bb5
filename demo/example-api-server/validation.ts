import { type Cause, invalid } from './api-error.ts';
import type { KubernetesObject } from './kubernetes-object.ts';
import type { ServedResource } from './served-resources.ts';

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const subdomain = `${label}(\\.${label})*`;

interface NameRule {
  readonly pattern: RegExp;
  readonly maximumLength: number;
  readonly message: string;
}

// Wording: k8s.io/apimachinery pkg/util/validation/validation.go.
const subdomainRule: NameRule = {
  pattern: new RegExp(`^${subdomain}$`),
  maximumLength: 253,
  message:
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
    `start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomain}')`,
};
const labelRule: NameRule = {
  pattern: new RegExp(`^${label}$`),
  maximumLength: 63,
  message:
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and " +
    `end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`,
};
/** Names of roles and bindings need only fit into a path. */
const pathSegmentRule: NameRule = {
  pattern: /^(?!\.{1,2}$)[^/%]+$/,
  maximumLength: 253,
  message: "may not be '.' or '..' and may not contain '/' or '%'",
};

function ruleOf({ group, resource }: ServedResource): NameRule {
  if (group === 'rbac.authorization.k8s.io') return pathSegmentRule;
  return group === '' && (resource === 'namespaces' || resource === 'services') ? labelRule : subdomainRule;
}

/**
 * Checks the name; nothing else of an object is checked.
 * @throws {ApiError} Invalid
 */
export function validateName(served: ServedResource, object: KubernetesObject): void {
  const { name = '', generateName = '' } = object.metadata;
  const causes: Cause[] = [];
  if (name === '' && generateName === '') {
    causes.push({
      reason: 'FieldValueRequired',
      field: 'metadata.name',
      message: 'Required value: name or generateName is required',
    });
  } else if (name !== '') {
    const { pattern, maximumLength, message } = ruleOf(served);
    const why =
      name.length > maximumLength
        ? `must be no more than ${maximumLength} characters`
        : pattern.test(name)
          ? undefined
          : message;
    if (why !== undefined) {
      causes.push({
        reason: 'FieldValueInvalid',
        field: 'metadata.name',
        message: `Invalid value: ${JSON.stringify(name)}: ${why}`,
      });
    }
  }
  if (causes.length > 0) throw invalid(served.group, served.kind, name, causes);
}
