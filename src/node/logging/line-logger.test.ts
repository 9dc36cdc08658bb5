import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { maskFields, maskText } from '../../runtime/mask-secrets.ts';
import { createLineLogger } from './line-logger.ts';

function logged(config: Parameters<typeof createLineLogger>[0]) {
  const lines: string[] = [];
  const logger = createLineLogger(config, (line) => lines.push(line));
  return { lines, logger };
}

const jwt = 'eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl';

describe('the logger', () => {
  it('writes one JSON object a line with the field names of Kubernetes', () => {
    const { lines, logger } = logged({ format: 'json', verbosity: 0 });
    logger.warn({ peer: 'cp-b', attempt: 2 }, 'Peer does not respond');
    assert.equal(lines.length, 1);
    const { ts, ...rest } = JSON.parse(lines[0] ?? '');
    assert.deepEqual(rest, { level: 'warn', v: 0, msg: 'Peer does not respond', peer: 'cp-b', attempt: 2 });
    assert.ok(Math.abs(ts - Date.now()) < 3_600_000, 'milliseconds');
  });

  it('writes the same as text', () => {
    const { lines, logger } = logged({ format: 'text', verbosity: 0 });
    logger.error(
      { error: new Error('refused', { cause: new Error('no route') }) },
      'Cannot connect\nto peer',
    );
    assert.match(
      lines[0] ?? '',
      /^E \d{4}-\d\d-\d\dT[\d:.]+Z "Cannot connect\\nto peer" err="Error: refused: caused by Error: no route"\n$/,
    );
  });

  it('writes times as milliseconds in JSON, and in text as people read them', () => {
    const line = (format: 'json' | 'text'): string => {
      const { lines, logger } = logged({ format, verbosity: 0 });
      logger.info({ generation: 2, expiresAt: 1_795_631_656_997 }, 'Snapshot in use');
      return lines[0] ?? '';
    };
    assert.equal(JSON.parse(line('json')).expiresAt, 1_795_631_656_997);
    assert.match(line('text'), /"Snapshot in use" generation=2 expiresAt=2026-11-25T18:34:16\.997Z\n$/);
  });

  it('leaves out what JSON does not have, and writes what is no time as it is', () => {
    for (const format of ['json', 'text'] as const) {
      const { lines, logger } = logged({ format, verbosity: 0 });
      logger.info({ a: undefined, b: () => {}, endedAt: Number.NaN, v: 3, size: 10n }, 'x');
      assert.match(
        lines[0] ?? '',
        format === 'json'
          ? /"v":3,"endedAt":null,"size":"10","msg":"x"\}\n$/
          : /"x" endedAt=null size="10"\n$/,
      );
    }
  });

  it('shows debug lines from verbosity 4 on', () => {
    for (const [verbosity, expected] of [
      [0, 0],
      [3, 0],
      [4, 1],
      [9, 1],
    ] as const) {
      const { lines, logger } = logged({ format: 'json', verbosity });
      logger.debug({}, 'Decided');
      assert.equal(lines.length, expected, `-v=${verbosity}`);
    }
  });

  it('never writes a credential, in either form, wherever it stands', () => {
    for (const format of ['json', 'text'] as const) {
      const { lines, logger } = logged({ format, verbosity: 9 });
      logger.info(
        {
          headers: ['Accept', '*/*', 'Authorization', 'Bearer hunter2', 'cookie', 'sid=hunter2'],
          request: { headers: { authorization: 'Basic hunter2' }, url: '/api?access_token=hunter2&limit=5' },
          error: new Error(`refused Bearer hunter2 (${jwt})`),
          key: '-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----',
          protocols: 'base64url.bearer.authorization.k8s.io.hunter2, v4.channel.k8s.io',
          list: new Set([`x ${jwt}`]),
          map: new Map([['token', 'hunter2']]),
          line: 'PUT /x HTTP/1.1\r\nCookie: a=hunter2; b=hunter2\r\nAccept: */*',
          custom: 'Authorization: Token hunter2',
          signed: { 'Mixed-Version-Proxy-Identity': 'hunter2', 'X-Amz-Security-Token': 'hunter2' },
          lines: ['Set-Cookie', 'sid=hunter2', 'X-Auth-Token', 'hunter2', 'X-Api-Key', 'hunter2'],
          presigned: 'https://a/b?X-Amz-Signature=hunter2&id_token=hunter2;refresh_token=hunter2&sig=hunter2',
          bootstrap: 'joins with hunter.2hunter2hunter2x',
        },
        `token is Bearer hunter2, ${jwt}`,
      );
      assert.equal(lines.length, 1);
      assert.doesNotMatch(lines[0] ?? '', /hunter2|eyJ|c2lnbmF0dXJl/);
      assert.match(lines[0] ?? '', /limit=5/);
      assert.match(lines[0] ?? '', /v4\.channel\.k8s\.io/);
    }
  });

  it('masks any bearer token inside any text', () => {
    fc.assert(
      fc.property(fc.string(), fc.stringMatching(/^[\w.~+/-]{8,40}=*$/), (before, token) => {
        assert.ok(!maskText(`${before} Bearer ${token}`).endsWith(token));
      }),
    );
  });

  it('survives fields that refer to themselves', () => {
    const loop: Record<string, unknown> = { name: 'loop' };
    loop['self'] = loop;
    assert.match(JSON.stringify(maskFields(loop)), /too deep/);
  });
});
