/** `v1`, `v2beta1`, `v1alpha3` (k8s.io/apimachinery pkg/version/helpers.go). */
const kubernetesVersion = /^v(\d+)(?:(alpha|beta)(\d+))?$/;

interface VersionPriority {
  readonly major: number;
  /** 2 for general availability, 1 for beta, 0 for alpha. */
  readonly stability: number;
  readonly minor: number;
}

/** Kubernetes' order of API versions, for `Array.prototype.sort`; strings of any other form last, alphabetically. */
export function compareVersionPriority(left: string, right: string): number {
  const leftPriority = priorityOf(left);
  const rightPriority = priorityOf(right);
  if (leftPriority !== undefined && rightPriority !== undefined) {
    return (
      rightPriority.stability - leftPriority.stability ||
      rightPriority.major - leftPriority.major ||
      rightPriority.minor - leftPriority.minor ||
      alphabetically(left, right)
    );
  }
  if (leftPriority !== undefined) return -1;
  if (rightPriority !== undefined) return 1;
  return alphabetically(left, right);
}

function priorityOf(version: string): VersionPriority | undefined {
  const match = kubernetesVersion.exec(version);
  if (match === null) return undefined;
  const [, major, stage, minor] = match;
  return {
    major: Number(major),
    stability: stage === undefined ? 2 : stage === 'beta' ? 1 : 0,
    minor: Number(minor ?? 0),
  };
}

/** By UTF-16 code units: the same on every machine, which `localeCompare` is not. */
function alphabetically(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
