/** Where CPU time goes, in the order of the table. */
export const places = ['kernel', 'tls', 'runtime', 'own', 'memory'] as const;
export type Place = (typeof places)[number];

/** As they stand in the table. */
export const placeTitles: Readonly<Record<Place, string>> = {
  kernel: 'kernel: sockets, waiting',
  tls: 'TLS and its ciphers',
  runtime: 'runtime of the language',
  own: 'the program itself',
  memory: 'memory of the C library',
};

/** What was being executed when it was looked at. */
export interface Sample {
  /** Function, as far as it is known. */
  readonly symbol: string;
  /** File that it comes from, or a name in brackets. */
  readonly object: string;
}

/** Objects and symbols from the most particular to the least; what none of them knows is the program itself. */
const rules: readonly { readonly place: Place; readonly object?: RegExp; readonly symbol?: RegExp }[] = [
  { place: 'kernel', object: /^\[(kernel|guest|k\]|vdso|vsyscall)/ },
  { place: 'kernel', object: /\.ko$/ },
  { place: 'tls', object: /\/lib(ssl|crypto)\b/ },
  { place: 'memory', object: /\/(libc|libc-[\d.]+|libjemalloc)\.so/ },
  // What V8 has compiled lies in memory that belongs to no file: JavaScript of the router, and Node's.
  { place: 'own', object: /^(\[JIT\]|\/\/anon|anon|\[anon|\/memfd|\/tmp\/perf-)/ },
  // Go: the standard library's TLS beside its scheduler, its collector and what polls sockets.
  // Its runtime's assembly has names without a package (`aeshashbody` is the hash of maps).
  { place: 'tls', object: /\/bench$/, symbol: /^(crypto\/|vendor\/golang\.org\/x\/crypto)/ },
  {
    place: 'runtime',
    object: /\/bench$/,
    symbol: /^(runtime|internal\/(runtime|poll|bytealg)|syscall)|^[^./]+$/,
  },
  // Node holds OpenSSL, V8 and libuv in one file.
  {
    place: 'tls',
    object: /\/node$/,
    symbol:
      /^_?(ossl|aes|vaes|gcm|ghash|chacha|poly1305|sha\d|x25519|ecp|bn_|EVP|SSL|ssl|tls|dtls|RECORD|WPACKET|PACKET|CRYPTO|OPENSSL|BIO|bio|ERR_|err_|BUF_|X509|ASN1)|node::crypto|TLSWrap/i,
  },
  { place: 'runtime', object: /\/node$/ },
];

/** Pure. */
export function placeOf(sample: Sample): Place {
  const rule = rules.find(
    ({ object, symbol }) =>
      (object === undefined || object.test(sample.object)) &&
      (symbol === undefined || symbol.test(sample.symbol)),
  );
  return rule?.place ?? 'own';
}

/** Share of each place, from 0 to 1. @throws when there is nothing to tell shares of. */
export function sharesOf(samples: readonly Sample[]): Record<Place, number> {
  if (samples.length === 0) throw new Error('perf saw nothing of the program');
  const shares: Record<Place, number> = { kernel: 0, tls: 0, runtime: 0, own: 0, memory: 0 };
  for (const sample of samples) shares[placeOf(sample)] += 1 / samples.length;
  return shares;
}
