/** Settings of the host on Deno or Bun, as JSON in a file. */
export interface FetchHostSettings {
  /** Under the names in docs/guides/edge.md. */
  readonly environment: Readonly<Record<string, string>>;
  /** PEM. */
  readonly serving: { readonly cert: string; readonly key: string };
  /** PEM; authorities of the servers' certificates. */
  readonly destinationAuthorities: string;
}
