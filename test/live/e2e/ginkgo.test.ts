import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { resultsOf } from './ginkgo.ts';

const spec = (text: string, state: string, message?: string) => ({
  ContainerHierarchyTexts: ['[sig-auth] Certificates'],
  LeafNodeType: 'It',
  LeafNodeText: text,
  State: state,
  RunTime: 2_340_000_000,
  ...(message === undefined ? {} : { Failure: { Message: message } }),
});

describe('results of Ginkgo', () => {
  test('a test has the name of its containers and its own', () => {
    const results = resultsOf([
      { SpecialSuiteFailureReasons: null, SpecReports: [spec('should sign', 'passed')] },
    ]);
    assert.deepEqual(
      [...results],
      [['[sig-auth] Certificates should sign', { outcome: 'passed', seconds: 2.3, message: '' }]],
    );
  });

  test('a test that was not asked for has no result, and one that skips itself has', () => {
    const results = resultsOf([
      {
        SpecialSuiteFailureReasons: [],
        SpecReports: [spec('other', 'skipped'), spec('nodes', 'skipped', 'needs a node')],
      },
    ]);
    assert.deepEqual(
      [...results.values()].map(({ outcome }) => outcome),
      ['skipped'],
    );
  });

  test('a test that a time-out kept from running has no result', () => {
    const results = resultsOf([
      {
        SpecialSuiteFailureReasons: ['Suite Timeout Elapsed'],
        SpecReports: [
          spec('hangs', 'timedout', 'A suite timeout occurred'),
          spec('next', 'skipped', 'not run'),
        ],
      },
    ]);
    assert.deepEqual(
      [...results.values()].map(({ outcome }) => outcome),
      ['failed'],
    );
  });
});
