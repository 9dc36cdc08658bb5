import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acceptsGzip } from './content-coding.ts';

test('gzip is taken where it is named or covered by a star, and not where it is refused', () => {
  for (const header of ['gzip', 'deflate, GZIP;q=0.5', 'br;q=1.0, gzip;q=0.001', '*', 'identity, *;q=0.5']) {
    assert.equal(acceptsGzip(header), true, header);
  }
  for (const header of [
    undefined,
    '',
    'identity',
    'gzip;q=0',
    'gzip;q=0.000, *',
    '*;q=0',
    'x-gzip2',
    'gzipped',
    // Too large to be read: as absent.
    `gzip,${'x,'.repeat(4 * 1024)}`,
  ]) {
    assert.equal(acceptsGzip(header), false, String(header));
  }
});
