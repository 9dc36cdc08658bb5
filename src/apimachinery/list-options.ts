import { type FieldRequirement, parseFieldSelector, requiredFieldValue } from './field-selector.ts';
import { isInt64 } from './integer.ts';
import { isLabelSelector } from './label-selector.ts';

/** What request info takes from the list options of a request for a collection. */
export interface ListOptions {
  readonly watch: boolean;
  /** The value of an exact match on `metadata.name` in the field selector; empty when there is none. */
  readonly name: string;
}

/** Go's `strings.EqualFold` with "false": simple case folding, under which U+017F (long s) equals s. */
const foldsToFalse = /^false$/iu;

/**
 * Reads list options from the first value of each query parameter
 * (k8s.io/apimachinery pkg/apis/meta/v1 ListOptions, its generated conversion from url.Values). When any of
 * them cannot be converted all are dropped, and `watch` is read by a rule of its own.
 *
 * Only parameters whose conversion can fail are looked at: the other ones are booleans, for which every value
 * counts, and strings.
 */
export function readListOptions(parameters: ReadonlyMap<string, string>): ListOptions {
  const watch = parameters.get('watch');
  const fields = convertibleFieldSelector(parameters);
  if (fields === undefined) {
    return { watch: watch !== undefined && watch !== '0' && watch.toLowerCase() !== 'false', name: '' };
  }
  return {
    watch: watch !== undefined && watch !== '0' && !foldsToFalse.test(watch),
    name: requiredName(fields),
  };
}

/** The field selector, parsed; `undefined` when it or any other option cannot be converted. */
function convertibleFieldSelector(
  parameters: ReadonlyMap<string, string>,
): readonly FieldRequirement[] | undefined {
  const limit = parameters.get('limit');
  if (limit !== undefined && !isInt64(limit)) return undefined;
  const timeoutSeconds = parameters.get('timeoutSeconds');
  if (timeoutSeconds !== undefined && !isInt64(timeoutSeconds)) return undefined;
  const labelSelector = parameters.get('labelSelector');
  if (labelSelector !== undefined && !isLabelSelector(labelSelector)) return undefined;
  const fieldSelector = parameters.get('fieldSelector');
  return fieldSelector === undefined ? [] : parseFieldSelector(fieldSelector);
}

function requiredName(fields: readonly FieldRequirement[]): string {
  const name = requiredFieldValue(fields, 'metadata.name') ?? '';
  // No name of an object (k8s.io/apimachinery pkg/api/validate/content/path.go).
  const impossible = name === '.' || name === '..' || name.includes('/') || name.includes('%');
  return impossible ? '' : name;
}
