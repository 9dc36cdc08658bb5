import { describe } from 'node:test';
import { findKubectls, kubectlMissing } from '../support/clients/kubectl.ts';
import { kubectlCases, waysOf } from './kubectl-cases.ts';

/** Every way but the one of kubectl.test.ts. */
const kubectls = findKubectls();
const [tested] = waysOf(kubectls.slice(-1));
const ways = waysOf(kubectls).filter(
  ({ kubectl, protocol, context }) =>
    kubectl.version !== tested?.kubectl.version || protocol !== tested.protocol || context !== tested.context,
);

describe('kubectl through the routers', { skip: kubectls.length === 0 && kubectlMissing }, () =>
  kubectlCases(ways, kubectls.slice(0, -1)),
);
