import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toJsonSchema } from '@valibot/to-json-schema';
import { configurationKind, configurationSchema } from './config/configuration-kind.ts';
import { deprecationWarnings } from './deprecated-flags.ts';
import { flagOption } from './flag-option.ts';
import type { FlagGroup } from './serve-flags.ts';

const groups: readonly FlagGroup<'colour' | 'color'>[] = [
  {
    heading: 'Paint flags:',
    flags: [
      { name: 'colour', kind: 'value', placeholder: 'name', description: 'What to paint with.' },
      {
        name: 'color',
        kind: 'value',
        placeholder: 'name',
        description: 'The same.',
        deprecated: { since: 'v0.2.0', instead: 'use --colour' },
      },
    ],
  },
];

describe('a deprecated flag', () => {
  it('is warned of when it is given, with what to write in its place; others are not', () => {
    assert.deepEqual(deprecationWarnings(groups, { colour: ['red'] }), []);
    assert.deepEqual(deprecationWarnings(groups, { colour: ['red'], color: ['red'] }), [
      { flag: '--color', message: '--color is deprecated since v0.2.0: use --colour' },
    ]);
  });

  it('says so in the help, which the reference page is made from', () => {
    const [colour, color] = groups.flatMap(({ flags }) => flags).map((flag) => flagOption(flag).description);
    assert.equal(colour, 'What to paint with.');
    assert.equal(color, 'The same. Deprecated since v0.2.0: use --colour.');
  });

  it('has a key that editors strike out', () => {
    const kind = configurationKind('Paint', groups, { colour: 'wall.colour', color: 'color' });
    const { properties = {} } = toJsonSchema(configurationSchema(kind));
    assert.deepEqual(properties['color'], {
      type: 'string',
      minLength: 1,
      description: 'The same. As --color. Deprecated since v0.2.0: use --colour.',
      deprecated: true,
    });
    assert.ok(!JSON.stringify(properties['wall']).includes('deprecated'));
  });
});

describe('the keys of a configuration kind', () => {
  it('are refused where two flags claim one, or one that holds others', () => {
    for (const [colour, color] of [
      ['paint', 'paint'],
      ['paint', 'paint.name'],
      ['paint.name', 'paint'],
    ] as const) {
      assert.throws(() => configurationKind('Paint', groups, { colour, color }), TypeError);
    }
  });
});
