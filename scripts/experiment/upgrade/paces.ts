import type { UpgradePace } from './rolling-upgrade.ts';

export const paces: Readonly<Record<'full' | 'quick', UpgradePace>> = {
  full: { steady: 8_000, down: 3_000, between: 8_000 },
  quick: { steady: 500, down: 200, between: 1_000 },
};
