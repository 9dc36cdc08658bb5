import { apiExtension, changedTable, flowControl, readAndWrite, standard, status } from './form.ts';
import { kubernetes126 } from './kubernetes-1.26.ts';

/** What kube-apiserver 1.36 serves by default: stable group versions only. */
export const kubernetes136 = changedTable(kubernetes126, {
  without: [
    'authentication.k8s.io/v1alpha1',
    'flowcontrol.apiserver.k8s.io/v1beta2',
    'flowcontrol.apiserver.k8s.io/v1beta3',
    'internal.apiserver.k8s.io/v1alpha1',
    'networking.k8s.io/v1/networkpolicies/status',
    'storage.k8s.io/v1beta1',
  ],
  withSubresources: { 'v1/pods': [['resize', readAndWrite]] },
  with: {
    'admissionregistration.k8s.io/v1': [
      ['mutatingadmissionpolicies', 'MutatingAdmissionPolicy', 'Cluster', standard, apiExtension],
      [
        'mutatingadmissionpolicybindings',
        'MutatingAdmissionPolicyBinding',
        'Cluster',
        standard,
        apiExtension,
      ],
      [
        'validatingadmissionpolicies',
        'ValidatingAdmissionPolicy',
        'Cluster',
        standard,
        { ...apiExtension, subresources: [status] },
      ],
      [
        'validatingadmissionpolicybindings',
        'ValidatingAdmissionPolicyBinding',
        'Cluster',
        standard,
        apiExtension,
      ],
    ],
    'authentication.k8s.io/v1': [['selfsubjectreviews', 'SelfSubjectReview', 'Cluster', 'create']],
    'flowcontrol.apiserver.k8s.io/v1': flowControl,
    'networking.k8s.io/v1': [
      ['ipaddresses', 'IPAddress', 'Cluster', standard, { shortNames: 'ip' }],
      ['servicecidrs', 'ServiceCIDR', 'Cluster', standard, { subresources: [status] }],
    ],
    'resource.k8s.io/v1': [
      ['deviceclasses', 'DeviceClass', 'Cluster', standard],
      ['resourceclaims', 'ResourceClaim', 'Namespaced', standard, { subresources: [status] }],
      ['resourceclaimtemplates', 'ResourceClaimTemplate', 'Namespaced', standard],
      ['resourceslices', 'ResourceSlice', 'Cluster', standard],
    ],
    'storage.k8s.io/v1': [
      ['volumeattributesclasses', 'VolumeAttributesClass', 'Cluster', standard, { shortNames: 'vac' }],
    ],
  },
});
