/** Names of everything that API servers have stored, straight from etcd (its gateway for JSON, api-reference v3). */
export async function storedKeys(etcdUrl: string): Promise<ReadonlySet<string>> {
  const encode = (text: string) => Buffer.from(text).toString('base64');
  const response = await fetch(`${etcdUrl}/v3/kv/range`, {
    method: 'POST',
    // From the prefix to the one after it.
    body: JSON.stringify({ key: encode('/registry/'), range_end: encode('/registry0'), keys_only: true }),
  });
  if (!response.ok) throw new Error(`etcd answers ${response.status}: ${await response.text()}`);
  const { kvs = [] } = (await response.json()) as { kvs?: { key: string }[] };
  return new Set(kvs.map(({ key }) => Buffer.from(key, 'base64').toString()));
}
