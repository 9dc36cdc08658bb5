/** `v1`, `v2beta1`, `v1alpha3` (k8s.io/apimachinery pkg/version/helpers.go). */
const kubernetesVersion = /^v(\d+)(?:(alpha|beta)(\d+))?$/;

/** Kubernetes' order of API versions, for `Array.prototype.sort`; strings of any other form last, alphabetically. */
export function compareVersionPriority(left: string, right: string): number {
  const [one, other] = [priorityOf(left), priorityOf(right)];
  for (const [index, priority] of other.entries()) {
    const difference = priority - (one[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return alphabetically(left, right);
}

/** Stability (3 for general availability, 2 for beta, 1 for alpha), major and minor number; 0 for any other form. */
function priorityOf(version: string): readonly [number, number, number] {
  const match = kubernetesVersion.exec(version);
  if (match === null) return [0, 0, 0];
  const [, major, stage, minor] = match;
  return [stage === undefined ? 3 : stage === 'beta' ? 2 : 1, Number(major), Number(minor ?? 0)];
}

/** By UTF-16 code units: the same on every machine, which `localeCompare` is not. */
function alphabetically(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
