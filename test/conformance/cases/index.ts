import type { CaseGroup, ConformanceCase } from '../conformance-case.ts';
import { assertions } from './assertions.ts';
import { bodies } from './bodies.ts';
import { decisions } from './decisions.ts';
import { discovery } from './discovery.ts';
import { failures } from './failures.ts';
import { headers } from './headers.ts';
import { identity } from './identity.ts';
import { ownPaths } from './own-paths.ts';
import { paths } from './paths.ts';
import { severalVersions } from './several-versions.ts';
import { streaming } from './streaming.ts';
import { upgrades } from './upgrades.ts';

/** Every case, in the order of the page. */
export const caseGroups: readonly CaseGroup[] = [
  decisions,
  severalVersions,
  paths,
  identity,
  assertions,
  headers,
  bodies,
  streaming,
  upgrades,
  failures,
  discovery,
  ownPaths,
];

export const allCases: readonly ConformanceCase[] = caseGroups.flatMap(({ cases }) => cases);
