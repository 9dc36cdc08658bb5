import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSamples } from '../../scripts/bench/profile/perf.ts';
import { placeOf, sharesOf } from '../../scripts/bench/profile/places.ts';

test('perf script: a line for each sample, names with spaces and parentheses included', () => {
  const output = [
    ' ffffffff8123 do_syscall_64 ([kernel.kallsyms])',
    '     55d0a1 v8::internal::Heap::Scavenge(bool (*)(int)) (/usr/lib/node)',
    '     7f01aa [unknown] ([JIT] tid 4711)',
    '     7f01ab main (/usr/bin/replaced (deleted))',
    '',
  ].join('\n');
  assert.deepEqual(parseSamples(output), [
    { symbol: 'do_syscall_64', object: '[kernel.kallsyms]' },
    { symbol: 'v8::internal::Heap::Scavenge(bool (*)(int))', object: '/usr/lib/node' },
    { symbol: '[unknown]', object: '[JIT] tid 4711' },
    { symbol: 'main', object: '/usr/bin/replaced (deleted)' },
  ]);
});

test('a sample is put where it belongs: Node holds OpenSSL and V8 in one file, Go TLS and its scheduler', () => {
  const cases = [
    ['do_syscall_64', '[kernel.kallsyms]', 'kernel'],
    ['ossl_aes_gcm_encrypt_avx512', '/opt/bin/node', 'tls'],
    ['node::crypto::TLSWrap::ClearOut()', '/opt/bin/node', 'tls'],
    ['uv__io_poll', '/opt/bin/node', 'runtime'],
    ['Builtins_CallFunction', '/opt/bin/node', 'runtime'],
    ['[unknown]', '[JIT] tid 4711', 'own'],
    ['EVP_CipherUpdate', '/usr/lib/libcrypto.so.3', 'tls'],
    ['ngx_http_process', '/usr/sbin/nginx', 'own'],
    ['malloc', '/usr/lib/libc.so.6', 'memory'],
    ['crypto/tls.(*Conn).Write', '/tmp/x/bench', 'tls'],
    ['aeshashbody', '/tmp/x/bench', 'runtime'],
    ['runtime.findRunnable', '/tmp/x/bench', 'runtime'],
    ['net/http.(*Transport).roundTrip', '/tmp/x/bench', 'own'],
  ] as const;
  for (const [symbol, object, place] of cases) assert.equal(placeOf({ symbol, object }), place, symbol);
});

test('shares add up to one; of no samples there are none', () => {
  const one = { symbol: 'malloc', object: '/usr/lib/libc.so.6' };
  const other = { symbol: 'x', object: '[kernel.kallsyms]' };
  assert.deepEqual(sharesOf([one, other, other, other]), {
    kernel: 0.75,
    tls: 0,
    runtime: 0,
    own: 0,
    memory: 0.25,
  });
  assert.throws(() => sharesOf([]), /saw nothing/);
});
