import { describe } from 'node:test';
import { findKubectls, kubectlMissing } from '../support/kubectl.ts';
import { discoveryCases } from './discovery-cases.ts';

/** The others: discovery.slow.test.ts. */
const newest = findKubectls().slice(-1);

describe(
  'what kubectl finds out about the whole cluster',
  {
    skip: newest.length === 0 && kubectlMissing,
  },
  () => discoveryCases(newest),
);
