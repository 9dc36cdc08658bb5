import { changedTable, flowControl } from './form.ts';
import { kubernetes125 } from './kubernetes-1.25.ts';

/**
 * What kube-apiserver 1.26 serves. One thing is on that is off by default, as with
 * `--runtime-config=authentication.k8s.io/v1alpha1=true --feature-gates=APISelfSubjectReview=true`:
 * SelfSubjectReview, so that `kubectl auth whoami` shows who arrived.
 */
export const kubernetes126 = changedTable(kubernetes125, {
  without: ['autoscaling/v2beta2', 'flowcontrol.apiserver.k8s.io/v1beta1'],
  with: {
    'authentication.k8s.io/v1alpha1': [['selfsubjectreviews', 'SelfSubjectReview', 'Cluster', 'create']],
    'flowcontrol.apiserver.k8s.io/v1beta3': flowControl,
  },
});
