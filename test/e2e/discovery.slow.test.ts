import { describe } from 'node:test';
import { findKubectls } from '../support/kubectl.ts';
import { discoveryCases } from './discovery-cases.ts';

/** The newest: discovery.test.ts. */
const older = findKubectls().slice(0, -1);

describe(
  'what kubectl finds out about the whole cluster',
  {
    skip: older.length === 0 && 'there is one kubectl on PATH, which discovery.test.ts uses',
  },
  () => discoveryCases(older),
);
