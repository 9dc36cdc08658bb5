import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toJsonSchema } from '@valibot/to-json-schema';
import { configurationKind, configurationSchema } from '../config/configuration-kind.ts';
import { deprecationWarnings } from './deprecated-flags.ts';
import { type ConfigurableFlagGroup, flagOption } from './flag.ts';
import { text } from './flag-types.ts';

const colour = { name: 'colour', value: text('name'), description: 'What to paint with.' } as const;
const color = {
  name: 'color',
  value: text('name'),
  description: 'The same.',
  deprecated: { since: 'v0.2.0', instead: 'use --colour' },
} as const;
const flags = [colour, color];

/** The two of them under these keys. */
function groupsWith(keys: {
  readonly colour: string;
  readonly color: string;
}): readonly ConfigurableFlagGroup[] {
  return [
    {
      heading: 'Paint flags:',
      flags: [
        { ...colour, key: keys.colour },
        { ...color, key: keys.color },
      ],
    },
  ];
}

describe('a deprecated flag', () => {
  it('is warned of when it is given, with what to write in its place; others are not', () => {
    assert.deepEqual(deprecationWarnings(flags, { colour: ['red'] }), []);
    assert.deepEqual(deprecationWarnings(flags, { colour: ['red'], color: ['red'] }), [
      { flag: '--color', message: '--color is deprecated since v0.2.0: use --colour' },
    ]);
  });

  it('says so in the help, which the reference page is made from', () => {
    const [shown, deprecated] = flags.map((flag) => flagOption(flag).description);
    assert.equal(shown, 'What to paint with.');
    assert.equal(deprecated, 'The same. Deprecated since v0.2.0: use --colour.');
  });

  it('has a key that editors strike out', () => {
    const kind = configurationKind('Paint', groupsWith({ colour: 'wall.colour', color: 'color' }));
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
      assert.throws(() => configurationKind('Paint', groupsWith({ colour, color })), TypeError);
    }
  });
});
