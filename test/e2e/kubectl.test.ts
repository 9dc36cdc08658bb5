import { describe } from 'node:test';
import { findKubectls, kubectlMissing } from '../support/clients/kubectl.ts';
import { kubectlCases, waysOf } from './kubectl-cases.ts';

/** The newest kubectl, through the router of the oldest server. All the others: kubectl.slow.test.ts. */
const newest = findKubectls().slice(-1);

describe('kubectl through the routers', { skip: newest.length === 0 && kubectlMissing }, () =>
  kubectlCases(waysOf(newest).slice(0, 1), newest),
);
