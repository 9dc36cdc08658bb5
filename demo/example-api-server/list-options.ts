import { type Cause, invalid } from './api-error.ts';
import type { KubernetesVersion } from './kubernetes-versions.ts';

/**
 * Refuses parameters of a list or a watch that do not go together (k8s.io/apimachinery
 * pkg/apis/meta/internalversion/validation/validation.go). Up to 1.26 `sendInitialEvents` is not known and so is
 * ignored, but a watch with `resourceVersionMatch` is refused: clients that ask for WatchList send both, get 422 Invalid
 * and fall back to a list.
 * @throws {ApiError} Invalid
 */
export function validateListOptions(
  { watchList }: KubernetesVersion,
  query: URLSearchParams,
  isWatch: boolean,
): void {
  const causes = watchList && isWatch ? watchListCauses(query) : listCauses(query, watchList, isWatch);
  if (causes.length > 0) throw invalid('meta.k8s.io', 'ListOptions', '', causes);
}

function watchListCauses(query: URLSearchParams): Cause[] {
  const match = query.get('resourceVersionMatch') ?? '';
  const sendsInitialEvents = query.has('sendInitialEvents');
  const causes: Cause[] = [];
  if (sendsInitialEvents && match !== 'NotOlderThan') {
    causes.push(
      forbidden(matchField, 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan'),
    );
  }
  if (match === '') return causes;
  if (!sendsInitialEvents) {
    causes.push(forbiddenMatch('for watch unless sendInitialEvents is provided'));
  }
  if (match !== 'NotOlderThan') causes.push(unsupportedMatch(match, ['NotOlderThan']));
  if (hasText(query, 'continue')) causes.push(forbiddenMatch('when continue is provided'));
  return causes;
}

function listCauses(query: URLSearchParams, watchList: boolean, isWatch: boolean): Cause[] {
  const match = query.get('resourceVersionMatch') ?? '';
  const causes: Cause[] = [];
  if (match !== '') {
    if (isWatch) causes.push(forbiddenMatch('for watch'));
    if (!hasText(query, 'resourceVersion')) {
      causes.push(forbiddenMatch('unless resourceVersion is provided'));
    }
    if (hasText(query, 'continue')) causes.push(forbiddenMatch('when continue is provided'));
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      causes.push(unsupportedMatch(match, ['Exact', 'NotOlderThan', '']));
    }
    if (match === 'Exact' && query.get('resourceVersion') === '0') {
      causes.push(forbidden(matchField, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  if (watchList && query.has('sendInitialEvents')) {
    causes.push(forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  return causes;
}

const matchField = 'resourceVersionMatch';

function hasText(query: URLSearchParams, name: string): boolean {
  return (query.get(name) ?? '') !== '';
}

function forbidden(field: string, why: string): Cause {
  return { reason: 'FieldValueForbidden', field, message: `Forbidden: ${why}` };
}

function forbiddenMatch(when: string): Cause {
  return forbidden(matchField, `resourceVersionMatch is forbidden ${when}`);
}

function unsupportedMatch(match: string, supported: readonly string[]): Cause {
  const values = supported.map((value) => JSON.stringify(value)).join(', ');
  const message = `Unsupported value: ${JSON.stringify(match)}: supported values: ${values}`;
  return { reason: 'FieldValueNotSupported', field: matchField, message };
}
