import { newFieldOf } from '../loops/new-field.ts';
import type { ApiServerBinary } from './assets.ts';

/** Minor versions in which each version of the API can be turned off by name: first, last. */
const flowControlVersions: readonly (readonly [version: string, first: number, last: number])[] = [
  ['v1beta1', 20, 25],
  ['v1beta2', 23, Number.POSITIVE_INFINITY],
  ['v1beta3', 26, Number.POSITIVE_INFINITY],
  ['v1', 29, Number.POSITIVE_INFINITY],
];

/** Minor versions that serve ValidatingAdmissionPolicies of v1beta1 where they are asked to, and store them as v1. */
const firstPolicies = 30;
const lastBetaPolicies = 33;

const leaseCandidates = ['--runtime-config=coordination.k8s.io/v1alpha2=true'];
const workloads = [
  '--feature-gates=GenericWorkload=true',
  '--runtime-config=scheduling.k8s.io/v1alpha1=true',
];

/** Releases after which nothing went that they serve by default: as the older one they serve an alpha API as well. */
const alphaOfOlder: Readonly<Record<number, readonly string[]>> = {
  29: ['--runtime-config=resource.k8s.io/v1alpha2=true'],
  32: leaseCandidates,
  33: leaseCandidates,
  34: leaseCandidates,
  35: workloads,
};

/** Releases with nothing new by default: as the newer one they serve what is new and alpha. */
const alphaOfNewer: Readonly<Record<number, readonly string[]>> = { 35: workloads };

/**
 * Flags that let servers further apart than Kubernetes supports (one minor version, see its version skew policy) share
 * one etcd. A newer server writes FlowSchemas in a version that the older one cannot decode, and the older one then
 * never becomes ready: priority and fairness is left out on all of them.
 *
 * @returns for servers at most one minor version apart: nothing but what only the older, or only the newer one has to have
 */
export function versionSkewFlags(
  { minor }: Pick<ApiServerBinary, 'minor'>,
  all: readonly Pick<ApiServerBinary, 'minor' | 'flags'>[],
): readonly string[] {
  const minors = all.map((binary) => binary.minor);
  const newest = Math.max(...minors);
  const field = newFieldOf(all);
  const fieldFlags = field !== undefined && minor >= field.since ? field.flags : [];
  if (newest - Math.min(...minors) <= 1) {
    // Where flags make the difference, they are all of it.
    const isAlone = minors.every((each) => each === minor) || all.some((each) => each.flags !== undefined);
    const alpha = minor < newest ? alphaOfOlder : alphaOfNewer;
    return [...(isAlone ? [] : (alpha[minor] ?? [])), ...fieldFlags];
  }
  const off = flowControlVersions
    .filter(([, first, last]) => minor >= first && minor <= last)
    .map(([version]) => `flowcontrol.apiserver.k8s.io/${version}=false`);
  // In place of the FlowSchemas: what else an older server has and a newer one has not.
  const on =
    minor >= firstPolicies && minor <= lastBetaPolicies ? ['admissionregistration.k8s.io/v1beta1=true'] : [];
  return [
    '--enable-priority-and-fairness=false',
    `--runtime-config=${[...off, ...on].join(',')}`,
    ...fieldFlags,
  ];
}
