import type { Reason } from './comparison.ts';

/** Why tests of the newest version do not pass by every way in. */
export const reasons: readonly Reason[] = [
  {
    tests: /API priority and fairness/,
    why: 'priority and fairness is off in the mixed cluster: 1.31 cannot decode FlowSchemas that 1.36 stores',
  },
  {
    tests: /health handlers/,
    why: 'a server of 1.31 was asked, which does not have the check `poststarthook/storage-readiness` by default',
  },
  {
    tests: /should support building a client with a CSR/,
    why: 'by `edge`, callers are known by their token; the test makes a client certificate',
  },
  {
    tests: /\] Watchers /,
    why: 'an overloaded server: it ends the watch with `Too large resource version`, straight too',
  },
  {
    tests: /exceeds active deadline|can dry-run update Pods/,
    why: 'in run 1 the stand-in for kubelets did not let a pod go that was deleted before it ran',
  },
  {
    tests: /life of a custom resource/,
    why: 'kube-controller-manager waited 30 s for a custom resource that another test had just removed; its log shows such waits by `balancer` too',
  },
  { tests: /MutatingAdmissionPolicy/, why: 'the server that was asked is of 1.31, which does not serve it' },
  { tests: /volume attributes class/, why: 'the server that was asked is of 1.31, which refuses the scope' },
  {
    tests: /ResourceClaim/,
    why: 'the server that was asked is of 1.31, which does not serve `resource.k8s.io/v1`',
  },
  { tests: /delegate reconciliation/, why: 'the server that was asked is of 1.31, which drops `managedBy`' },
  { tests: /MutablePodResources/, why: 'the server that was asked is of 1.31, which refuses the change' },
  { tests: /terminating scopes through/, why: 'a server let through what the quota forbids' },
];
