import fc from 'fast-check';

/** Names of the static table (RFC 7541 appendix A), but for those that mean something to the engines themselves. */
const staticNames = [
  ...['accept-charset', 'accept-encoding', 'accept-language', 'accept-ranges', 'access-control-allow-origin'],
  ...['age', 'allow', 'cache-control', 'content-disposition', 'content-encoding', 'content-language'],
  ...[
    'content-location',
    'content-range',
    'expires',
    'from',
    'if-match',
    'if-modified-since',
    'if-none-match',
  ],
  ...['if-range', 'if-unmodified-since', 'last-modified', 'link', 'location', 'max-forwards'],
  ...['proxy-authenticate', 'proxy-authorization', 'range', 'referer', 'refresh', 'retry-after', 'server'],
  ...['set-cookie', 'strict-transport-security', 'user-agent', 'vary', 'via', 'www-authenticate'],
];

/** Names and values of which many come again and again, as in life, and some are new each time. */
const name = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('accept', 'audit-id', 'authorization', 'content-type', 'etag', 'x-a'),
  },
  { weight: 3, arbitrary: fc.constantFrom(...staticNames) },
  fc.stringMatching(/^x-[a-z0-9!#$%&'*+.^_`|~-]{1,30}$/),
);
const bytes = (min: number, maxLength: number): fc.Arbitrary<string> =>
  fc.uint8Array({ minLength: 1, maxLength, min }).map((each) => Buffer.from(each).toString('latin1'));
const value = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      'no-cache, private',
      'application/json',
      '',
      'gzip, deflate',
      '41b0a3c8-9a44-4a7c',
    ),
  },
  { weight: 2, arbitrary: fc.stringMatching(/^[!-~]([ -~]{0,200}[!-~])?$/) },
  bytes(0x80, 60),
  // About what an integer of one byte, of two, and the dynamic table holds.
  fc
    .tuple(
      fc.constantFrom('a', '0', '~', '\xff'),
      fc.constantFrom(126, 127, 128, 254, 255, 4_055, 4_064, 9_000),
    )
    .map(([character, length]) => character.repeat(length)),
);

/** A line that may stand in a head of either side, with a value as a byte string. */
export const headerLine = fc.tuple(name, value);
