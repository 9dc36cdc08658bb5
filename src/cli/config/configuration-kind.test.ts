import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ConfigurableFlagGroup } from '../flags/flag.ts';
import { text } from '../flags/flag-types.ts';
import { configurationKind } from './configuration-kind.ts';

/** Two flags under these keys. */
function groupsWith(keys: {
  readonly colour: string;
  readonly color: string;
}): readonly ConfigurableFlagGroup[] {
  const flag = { value: text('name'), description: 'What to paint with.' } as const;
  return [
    {
      heading: 'Paint flags:',
      flags: [
        { ...flag, name: 'colour', key: keys.colour },
        { ...flag, name: 'color', key: keys.color },
      ],
    },
  ];
}

describe('the keys of a configuration kind', () => {
  it('are refused where two flags claim one, or one that holds others', () => {
    for (const [colour, color] of [
      ['paint', 'paint'],
      ['paint', 'paint.name'],
      ['paint.name', 'paint'],
    ] as const) {
      assert.throws(() => configurationKind('Paint', groupsWith({ colour, color })), TypeError);
    }
  });
});
