/** Names of everything that API servers have stored, straight from etcd (its gateway for JSON, api-reference v3). */
export async function storedKeys(etcdUrl: string): Promise<ReadonlySet<string>> {
  return new Set((await range(etcdUrl, '/registry/', true)).map(({ key }) => key));
}

export interface StoredCustomResource {
  readonly apiVersion: string;
  readonly metadata: { readonly name: string };
}

/** Custom resources as they are stored, in JSON. */
export async function storedObjects(
  etcdUrl: string,
  prefix: string,
): Promise<readonly StoredCustomResource[]> {
  return (await range(etcdUrl, prefix, false)).map(({ value }) => JSON.parse(value) as StoredCustomResource);
}

/** @param prefix ends with `/` */
async function range(
  etcdUrl: string,
  prefix: string,
  keysOnly: boolean,
): Promise<readonly { readonly key: string; readonly value: string }[]> {
  const encode = (text: string) => Buffer.from(text).toString('base64');
  const decode = (text: string) => Buffer.from(text, 'base64').toString();
  const response = await fetch(`${etcdUrl}/v3/kv/range`, {
    method: 'POST',
    body: JSON.stringify({
      key: encode(prefix),
      // From the prefix to the one after it.
      range_end: encode(`${prefix.slice(0, -1)}0`),
      keys_only: keysOnly,
    }),
  });
  if (!response.ok) throw new Error(`etcd returned ${response.status}: ${await response.text()}`);
  const { kvs = [] } = (await response.json()) as { kvs?: { key: string; value?: string }[] };
  return kvs.map(({ key, value = '' }) => ({ key: decode(key), value: decode(value) }));
}
