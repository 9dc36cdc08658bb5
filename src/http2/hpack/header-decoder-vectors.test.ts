import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HeaderDecoder } from './header-decoder.ts';

/** Blocks that one connection sends one after the other, and the lines of each. */
interface Vector {
  readonly section: string;
  readonly blocks: readonly { readonly hex: string; readonly lines: readonly string[] }[];
}

const firstRequest = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com'];
const secondRequest = [...firstRequest, 'cache-control', 'no-cache'];
const thirdRequest = [
  ...[':method', 'GET', ':scheme', 'https', ':path', '/index.html', ':authority', 'www.example.com'],
  ...['custom-key', 'custom-value'],
];
const location = ['location', 'https://www.example.com'];
const dated = ['cache-control', 'private', 'date', 'Mon, 21 Oct 2013 20:13:21 GMT', ...location];
const firstResponse = [':status', '302', ...dated];
const secondResponse = [':status', '307', ...dated];
const thirdResponse = [
  ...[':status', '200', 'cache-control', 'private', 'date', 'Mon, 21 Oct 2013 20:13:22 GMT', ...location],
  ...['content-encoding', 'gzip'],
  ...['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
];
/** Appendices C.5 and C.6 have a table of 256 bytes, which settings may say; here the block does (section 6.3). */
const tableOf256 = '3fe101';

const vectors: readonly Vector[] = [
  {
    section: 'C.2.1, a literal with indexing',
    blocks: [
      {
        hex: '400a637573746f6d2d6b65790d637573746f6d2d686561646572',
        lines: ['custom-key', 'custom-header'],
      },
      { hex: 'be', lines: ['custom-key', 'custom-header'] },
    ],
  },
  {
    section: 'C.2.2, a literal without indexing',
    blocks: [{ hex: '040c2f73616d706c652f70617468', lines: [':path', '/sample/path'] }],
  },
  {
    section: 'C.2.3, a literal that is never indexed',
    blocks: [{ hex: '100870617373776f726406736563726574', lines: ['password', 'secret'] }],
  },
  { section: 'C.2.4, an indexed line', blocks: [{ hex: '82', lines: [':method', 'GET'] }] },
  {
    section: 'C.3, requests without Huffman coding',
    blocks: [
      { hex: '828684410f7777772e6578616d706c652e636f6d', lines: firstRequest },
      { hex: '828684be58086e6f2d6361636865', lines: secondRequest },
      { hex: '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565', lines: thirdRequest },
    ],
  },
  {
    section: 'C.4, requests with Huffman coding',
    blocks: [
      { hex: '828684418cf1e3c2e5f23a6ba0ab90f4ff', lines: firstRequest },
      { hex: '828684be5886a8eb10649cbf', lines: secondRequest },
      { hex: '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf', lines: thirdRequest },
    ],
  },
  {
    section: 'C.5, responses without Huffman coding, whose entries drive each other out',
    blocks: [
      {
        hex: `${tableOf256}4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d`,
        lines: firstResponse,
      },
      { hex: '4803333037c1c0bf', lines: secondResponse },
      {
        hex: '88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31',
        lines: thirdResponse,
      },
    ],
  },
  {
    section: 'C.6, responses with Huffman coding, whose entries drive each other out',
    blocks: [
      {
        hex: `${tableOf256}488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3`,
        lines: firstResponse,
      },
      { hex: '4883640effc1c0bf', lines: secondResponse },
      {
        hex: '88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
        lines: thirdResponse,
      },
    ],
  },
];

describe('the examples of RFC 7541 appendix C', () => {
  for (const { section, blocks } of vectors) {
    test(section, () => {
      const decoder = new HeaderDecoder({ maximumLines: 100, maximumSize: 10_000 });
      for (const { hex, lines } of blocks) {
        const block = Buffer.from(hex, 'hex');
        assert.equal(block.length, hex.length / 2);
        assert.deepEqual(decoder.decode(block), { lines, exceedLimits: false });
      }
    });
  }
});

test('the size of a head is counted with 32 bytes a line, as RFC 9113 section 6.5.2 has it', () => {
  const block = Buffer.from('828684410f7777772e6578616d706c652e636f6d', 'hex');
  const size = firstRequest.join('').length + 4 * 32;
  const exactly = new HeaderDecoder({ maximumLines: 4, maximumSize: size });
  assert.equal(exactly.decode(block).exceedLimits, false);
  const less = new HeaderDecoder({ maximumLines: 4, maximumSize: size - 1 });
  assert.equal(less.decode(block).exceedLimits, true);
});
